// For the source of CUDA kernels only: kernels whose threads work together, block by block.
#ifndef BNN_BASE_CUDA_BLOCK_H_
#define BNN_BASE_CUDA_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "base/cuda_kernel.h"

namespace bnn::cuda {

inline constexpr int kWarp = 32;

struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

// Waits until every thread of the block is here.
BNN_DEVICE void Barrier() {
#if defined(__CUDACC__)
  __syncthreads();
#else
  host_cuda::Barrier();
#endif
}

// Returns the value of the lane whose number differs by the bits of `mask`.
BNN_DEVICE uint32_t ShuffleXor(uint32_t value, int mask) {
#if defined(__CUDACC__)
  return __shfl_xor_sync(~0u, value, mask);
#else
  return host_cuda::Exchange<uint32_t>(value, [mask](const uint32_t* in, uint32_t* out) {
    for (int lane = 0; lane < kWarp; ++lane) out[lane] = in[lane ^ mask];
  });
#endif
}

// Returns the word whose bit l is set if `bit` of lane l is not 0.
BNN_DEVICE uint32_t Ballot(uint32_t bit) {
#if defined(__CUDACC__)
  return __ballot_sync(~0u, bit != 0);
#else
  return host_cuda::Exchange<uint32_t>(bit, [](const uint32_t* in, uint32_t* out) {
    uint32_t word = 0;
    for (int lane = 0; lane < kWarp; ++lane) word |= static_cast<uint32_t>(in[lane] != 0) << lane;
    for (int lane = 0; lane < kWarp; ++lane) out[lane] = word;
  });
#endif
}

#if defined(__CUDACC__)
BNN_DEVICE uint32_t* SharedMemory() {
  extern __shared__ __align__(128) uint32_t shared[];
  return shared;
}
#endif

template <typename Body>
__global__ void __launch_bounds__(Body::kThreads) BlockKernel(const Body body) {
#if defined(__CUDACC__)
  body(SharedMemory());
#else
  body(static_cast<uint32_t*>(host_cuda::SharedMemory()));
#endif
}

// Lets blocks of `Body` have as much shared memory as they take. Once, before the first launch on a
// device: a launch itself changes nothing.
template <typename Body>
Status PrepareBlocks() {
#if defined(__CUDACC__)
  return cudaFuncSetAttribute(BlockKernel<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(Body::kSharedBytes));
#else
  return 0;
#endif
}

// Queues body(shared memory) on Body::kThreads threads for every block of the grid.
template <typename Body>
Status ForEachBlock(const Body& body, Grid grid, Stream stream) {
  if (grid.x * grid.y * grid.z == 0) return 0;
#if defined(__CUDACC__)
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                    static_cast<unsigned>(grid.z));
  BlockKernel<Body>
      <<<blocks, Body::kThreads, Body::kSharedBytes, static_cast<cudaStream_t>(stream)>>>(body);
  return cudaGetLastError();
#else
  static_cast<void>(stream);
  constexpr Status kLaunchFailure = 719;
  const host_cuda::Index blocks = {static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                                   static_cast<unsigned>(grid.z)};
  const bool met = host_cuda::RunBlocks(blocks, Body::kThreads, Body::kSharedBytes,
                                        [&body] { BlockKernel<Body>(body); });
  return met ? 0 : kLaunchFailure;
#endif
}

}  // namespace bnn::cuda

#endif  // BNN_BASE_CUDA_BLOCK_H_
