// The exports of a library that runs the CUDA ops on the CPU execution provider, where tests hold
// them against the oracle. They are those of libbnndeploy_ops.so; devices stand in for instruction
// sets.
#include <cstdlib>
#include <string>

#include "ops/cuda/device_on_host.h"
#include "ops/domain.h"
#include "ops/report.h"

namespace bnn::ops {
namespace {

// Kernels with one variant for every device, and those with one for each.
constexpr const char* kPlain[] = {"sign", "ternary", "pack_bits", "unpack_bits", "max_pool_bits"};
constexpr const char* kProducts[] = {"product_bits", "product_float"};

std::string DeviceNames() {
  std::string names;
  for (const HostDevice& device : kHostDevices) Append(&names, Quoted(device.name));
  return "[" + names + "]";
}

std::string KernelEntry(const char* kernel, const std::string& variants) {
  return Quoted(kernel) + ": {\"variants\": " + variants +
         ", \"chosen\": " + Quoted(ChosenDevice().name) +
         ", \"created\": " + CreatedOf(ReadCreated(), kernel) + "}";
}

std::string Report() {
  const std::string first = "[" + Quoted(kHostDevices[0].name) + "]";
  std::string kernels;
  for (const char* kernel : kPlain) Append(&kernels, KernelEntry(kernel, first));
  for (const char* kernel : kProducts) Append(&kernels, KernelEntry(kernel, DeviceNames()));
  const char* cap = std::getenv("BNNDEPLOY_ISA");
  return "{\"isa\": {\"supported\": " + DeviceNames() + ", \"allowed\": [" +
         Quoted(ChosenDevice().name) +
         "], \"cap\": " + (cap && *cap ? Quoted(cap) : std::string("null")) + "}, \"kernels\": {" +
         kernels + "}, \"nodes\": " + NodesCreated() +
         ", \"cuda\": null, \"constant_weights_only\": true}";
}

}  // namespace
}  // namespace bnn::ops

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  return bnn::ops::RegisterDomain(options, base, [](const bnn::ort::ApiBase*, int threads) {
    return bnn::ops::OpsFor("CPUExecutionProvider", threads);
  });
}

extern "C" __attribute__((visibility("default"))) const char* BnnDeployKernels() {
  thread_local std::string report;
  try {
    report = bnn::ops::Report();
  } catch (const std::exception& error) {
    report = "{\"error\": " + bnn::ops::Quoted(error.what()) + "}";
  }
  return report.c_str();
}
