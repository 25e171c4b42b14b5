// For the source of CUDA kernels only (*.cu, *.cuh): one program text for nvcc and, with the shim
// of host_cuda/, for the C++ compiler.
#ifndef BNN_BASE_CUDA_KERNEL_H_
#define BNN_BASE_CUDA_KERNEL_H_

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define BNN_UNROLL _Pragma("unroll")
#define BNN_UNROLL_BY_4 _Pragma("unroll 4")
#else
#include "host_cuda/cuda_on_host.h"
#define BNN_UNROLL
#define BNN_UNROLL_BY_4
#endif

#include <cstdint>

#include "base/cuda.h"
#include "base/half.h"

#define BNN_DEVICE __device__ __forceinline__

namespace bnn::cuda {

BNN_DEVICE float ToFloat(float value) { return value; }

BNN_DEVICE float ToFloat(uint16_t half) {
#if defined(__CUDA_ARCH__)
  float value;  // in PTX, because cuda_fp16.h needs headers that the compiler's wheel lacks
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  return HalfToFloat(half);
#endif
}

// Returns the value rounded to the type of `*to`, ties to even.
BNN_DEVICE void Round(float value, float* to) { *to = value; }

BNN_DEVICE void Round(float value, uint16_t* to) {
#if defined(__CUDA_ARCH__)
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(*to) : "f"(value));
#else
  *to = FloatToHalf(value);
#endif
}

BNN_DEVICE int CountBits(uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

inline constexpr int kThreads = 128;  // of a block

template <typename Body>
__global__ void __launch_bounds__(kThreads) ForEachKernel(const Body body, int64_t count) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index < count) body(index);
}

// Queues body(i) for every i in [0, count), one thread each; neighbours in i run side by side.
template <typename Body>
Status ForEach(const Body& body, int64_t count, Stream stream) {
  if (count == 0) return 0;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
#if defined(__CUDACC__)
  ForEachKernel<Body><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body, count);
  return cudaGetLastError();
#else
  static_cast<void>(stream);
  host_cuda::Launch(ForEachKernel<Body>, blocks, kThreads, body, count);
  return 0;
#endif
}

}  // namespace bnn::cuda

#endif  // BNN_BASE_CUDA_KERNEL_H_
