#include "ops/cuda/device.h"

#include <cuda_runtime_api.h>

#include <string>

#include "ort/error.h"

namespace bnn::ops {
namespace {

// A copy from pageable memory may return before its last part has arrived, and the stream of a
// session does not wait for the default stream.
void CopyAndWait(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying constant inputs");
  CheckCuda(cudaStreamSynchronize(cudaStreamLegacy), "copying constant inputs");
}

}  // namespace

product::CudaDevice CurrentDevice() {
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "asking for the device");
  const auto ask = [device](cudaDeviceAttr attribute) {
    int value = 0;
    CheckCuda(cudaDeviceGetAttribute(&value, attribute, device), "asking for the device's limits");
    return value;
  };
  const int major = ask(cudaDevAttrComputeCapabilityMajor);
  const int minor = ask(cudaDevAttrComputeCapabilityMinor);
  return {major * 10 + minor, ask(cudaDevAttrMultiProcessorCount)};
}

void CopyToHost(void* to, const void* from, size_t bytes) { CopyAndWait(to, from, bytes); }
void CopyToDevice(void* to, const void* from, size_t bytes) { CopyAndWait(to, from, bytes); }

void CheckCuda(cuda::Status status, const char* what) {
  if (status == cudaSuccess) return;
  const auto error = static_cast<cudaError_t>(status);
  throw ort::Error(std::string("CUDA fails at ") + what + ": " + cudaGetErrorString(error) + " (" +
                   cudaGetErrorName(error) + ")");
}

}  // namespace bnn::ops
