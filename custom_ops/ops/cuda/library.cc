// The exports of libbnndeploy_ops_cuda.so.
#include "ops/cuda/library.h"

#include <string>

#include "ops/domain.h"
#include "ops/report.h"

namespace bnn::ops {
namespace {

// Returns an object: kernel -> the variants that nodes were created with, and how often.
std::string CreatedKernels() {
  const CreatedCounts created = ReadCreated();
  std::string kernels;
  for (const auto& [kernel, counts] : created) {
    Append(&kernels, Quoted(kernel) + ": {\"created\": " + CreatedOf(created, kernel) + "}");
  }
  return "{" + kernels + "}";
}

}  // namespace
}  // namespace bnn::ops

extern "C" __attribute__((visibility("default"))) const bnn::ort::CustomOp* const* BNN_CUDA_OPS(
    const bnn::ort::ApiBase* base, size_t* count) {
  bnn::ort::SetApi(base);
  const bnn::ops::OpList& ops = bnn::ops::OpsFor("CUDAExecutionProvider", 1);
  *count = ops.size();
  return ops.data();
}

// Returns a JSON object; the text is valid until the calling thread calls again.
//   kernels.<name>.created: how many nodes got which variant since the library was loaded
//   nodes: the nodes created last with their variants, oldest first
extern "C" __attribute__((visibility("default"))) const char* BnnDeployKernels() {
  thread_local std::string report;
  report = "{\"kernels\": " + bnn::ops::CreatedKernels() +
           ", \"nodes\": " + bnn::ops::NodesCreated() + "}";
  return report.c_str();
}
