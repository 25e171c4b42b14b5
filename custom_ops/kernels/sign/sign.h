// y[i] = +1 if x[i] >= 0, else -1: -0.0 gives +1, NaN gives -1.
//
// Pointers need no alignment beyond their type; x and y are equal or do not overlap; only the
// `count` elements are touched.
#ifndef BNN_KERNELS_SIGN_SIGN_H_
#define BNN_KERNELS_SIGN_SIGN_H_

#include <cstdint>

#include "base/cpu.h"

namespace bnn {

struct SignKernel {
  const char* name;
  void (*f32)(const float* x, float* y, int64_t count);
  void (*f16)(const uint16_t* x, uint16_t* y, int64_t count);  // binary16
};

// Returns the best variant that the instruction sets in `isa` can run.
SignKernel SelectSign(uint32_t isa = cpu::Supported());

#define BNN_KERNEL(needed, isa)                                 \
  void sign_f32_##isa(const float* x, float* y, int64_t count); \
  void sign_f16_##isa(const uint16_t* x, uint16_t* y, int64_t count);
#include "kernels/sign/kernels.inc"
#undef BNN_KERNEL

}  // namespace bnn

#endif  // BNN_KERNELS_SIGN_SIGN_H_
