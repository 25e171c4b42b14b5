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

int DeviceCapability() {
  int device = 0, major = 0, minor = 0;
  constexpr const char* kWhat = "asking for the device's compute capability";
  CheckCuda(cudaGetDevice(&device), kWhat);
  CheckCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), kWhat);
  CheckCuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), kWhat);
  return major * 10 + minor;
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
