// RegisterCustomOps: the entry point that ONNX Runtime looks up in an operator library.
#include "ops/cpu/cuda_library.h"
#include "ops/domain.h"

namespace {

using bnn::ops::OpList;

// Returns the ops for the CPU and, from the library beside this one, those for CUDA.
OpList AllOps(const bnn::ort::ApiBase* base, int threads) {
  OpList all = bnn::ops::OpsFor("CPUExecutionProvider", threads);
  if (const bnn::ops::CudaOpsFunction cuda = bnn::ops::OpenCudaLibrary().ops) {
    size_t count = 0;
    const bnn::ort::CustomOp* const* ops = cuda(base, &count);
    all.insert(all.end(), ops, ops + count);
  }
  return all;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  return bnn::ops::RegisterDomain(options, base, AllOps);
}
