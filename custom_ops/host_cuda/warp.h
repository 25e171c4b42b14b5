// Barriers and shuffles of CUDA, for fibers. All 32 lanes of a warp take part in each.
#ifndef BNN_HOST_CUDA_WARP_H_
#define BNN_HOST_CUDA_WARP_H_

#include "host_cuda/fibers.h"

namespace bnn::host_cuda {

// Calls all(operands of the 32 lanes) in the lane that comes last; each has its result in `mine`
// when the call returns.
template <typename Operands, typename All>
void Together(Operands* mine, const All& all) {
  static char operation;  // its address tells this instruction from others
  void** lanes = MeetInWarp(&operation, mine);
  if (lanes == nullptr) return;
  Operands* operands[kWarpLanes];
  for (int i = 0; i < kWarpLanes; ++i) operands[i] = static_cast<Operands*>(lanes[i]);
  all(operands);
  LeaveWarp();
}

}  // namespace bnn::host_cuda

inline void __syncthreads() { bnn::host_cuda::SyncBlock(); }

inline void __syncwarp(unsigned = ~0u) {
  char none;
  bnn::host_cuda::Together(&none, [](char**) {});
}

// Returns the value of the lane whose index differs by the bits of `mask`.
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  struct Operands {
    T value, result;
    int mask;
  } mine = {value, value, mask};
  bnn::host_cuda::Together(&mine, [](Operands** lanes) {
    for (int i = 0; i < bnn::host_cuda::kWarpLanes; ++i) {
      lanes[i]->result = lanes[i ^ lanes[i]->mask]->value;
    }
  });
  return mine.result;
}

#endif  // BNN_HOST_CUDA_WARP_H_
