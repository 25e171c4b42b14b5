// y[i] = (x[i] > t) - (x[i] < -t), t = threshold[i * stride] with stride 0 or 1; compared in
// float32, so NaN gives 0.
//
// Pointers need no alignment beyond their type; x and y are equal or do not overlap; only the
// `count` elements of x and y, and one or `count` elements of threshold, are touched.
#ifndef BNN_KERNELS_TERNARY_TERNARY_H_
#define BNN_KERNELS_TERNARY_TERNARY_H_

#include <cstdint>

#include "base/cpu.h"

namespace bnn {

struct TernaryKernel {
  const char* name;
  void (*f32)(const float* x, const float* threshold, int64_t stride, float* y, int64_t count);
  void (*f16)(const uint16_t* x, const float* threshold, int64_t stride, uint16_t* y,
              int64_t count);  // binary16
};

// Returns the best variant that the instruction sets in `isa` can run.
TernaryKernel SelectTernary(uint32_t isa = cpu::Supported());

#define BNN_KERNEL(needed, isa)                                                                  \
  void ternary_f32_##isa(const float* x, const float* threshold, int64_t stride, float* y,       \
                         int64_t count);                                                         \
  void ternary_f16_##isa(const uint16_t* x, const float* threshold, int64_t stride, uint16_t* y, \
                         int64_t count);
#include "kernels/ternary/kernels.inc"
#undef BNN_KERNEL

}  // namespace bnn

#endif  // BNN_KERNELS_TERNARY_TERNARY_H_
