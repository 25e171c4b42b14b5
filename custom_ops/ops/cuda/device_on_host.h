// The devices that a library whose CUDA kernels run on the host can play: one for each set of
// kernels that Select chooses.
#ifndef BNN_OPS_CUDA_DEVICE_ON_HOST_H_
#define BNN_OPS_CUDA_DEVICE_ON_HOST_H_

namespace bnn::ops {

struct HostDevice {
  const char* name;
  int capability;
};

inline constexpr HostDevice kHostDevices[] = {
    {"sm75", 75}, {"sm80", 80}, {"sm90", 90}, {"sm100", 100}};

// Returns the device that BNNDEPLOY_ISA names, the first without one; throws for an unknown name.
const HostDevice& ChosenDevice();

}  // namespace bnn::ops

#endif  // BNN_OPS_CUDA_DEVICE_ON_HOST_H_
