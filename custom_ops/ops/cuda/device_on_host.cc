// The "device" of a library whose CUDA kernels run on the host: BNNDEPLOY_ISA chooses it.
#include "ops/cuda/device_on_host.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "ops/cuda/device.h"
#include "ort/error.h"

namespace bnn::ops {

const HostDevice& ChosenDevice() {
  const char* chosen = std::getenv("BNNDEPLOY_ISA");
  if (chosen == nullptr || *chosen == '\0') return kHostDevices[0];
  std::string known;
  for (const HostDevice& device : kHostDevices) {
    if (std::strcmp(device.name, chosen) == 0) return device;
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  }
  ort::Fail("environment variable BNNDEPLOY_ISA", "'" + std::string(chosen) + "'",
            "one of " + known);
}

product::CudaDevice CurrentDevice() {
  constexpr int kMultiprocessors = 2;  // so that small maps take large tiles too
  return {ChosenDevice().capability, kMultiprocessors};
}

void CopyToHost(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void CopyToDevice(void* to, const void* from, size_t bytes) { CopyToHost(to, from, bytes); }

void CheckCuda(cuda::Status status, const char* what) {
  if (status == 0) return;
  throw ort::Error("CUDA fails at " + std::string(what) + ": error " + std::to_string(status));
}

}  // namespace bnn::ops
