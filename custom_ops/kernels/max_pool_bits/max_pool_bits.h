// ORs the words of each window and flips the bits set in `invert`; padding counts as 0. On bits,
// max is OR; a channel whose sign was turned round needs min, which is the flipped OR of the
// flipped bits.
//
// One call computes rows [begin, end) of one image: bits [height, width, words] to y [out_height,
// out_width, words]. Pointers need no alignment beyond their type; nothing outside is touched.
#ifndef BNN_KERNELS_MAX_POOL_BITS_MAX_POOL_BITS_H_
#define BNN_KERNELS_MAX_POOL_BITS_MAX_POOL_BITS_H_

#include <cstdint>

#include "base/cpu.h"

namespace bnn {

struct MaxPoolBitsShape {
  int64_t height, width, words;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left;
  int64_t out_width;
};

struct MaxPoolBitsKernel {
  const char* name;
  void (*run)(const MaxPoolBitsShape& shape, const uint32_t* bits, const uint32_t* invert,
              uint32_t* y, int64_t begin, int64_t end);
};

// Returns the best variant that the instruction sets in `isa` can run.
MaxPoolBitsKernel SelectMaxPoolBits(uint32_t isa = cpu::Supported());

#define BNN_KERNEL(needed, isa)                                                 \
  void max_pool_bits_##isa(const MaxPoolBitsShape& shape, const uint32_t* bits, \
                           const uint32_t* invert, uint32_t* y, int64_t begin, int64_t end);
#include "kernels/max_pool_bits/kernels.inc"
#undef BNN_KERNEL

// The part of a window that lies on the map, along one axis: [begin, end), maybe empty.
struct MaxPoolSpan {
  int64_t begin, end;
};
static inline MaxPoolSpan MaxPoolWindow(int64_t out, int64_t stride, int64_t pad, int64_t kernel,
                                        int64_t size) {
  const int64_t first = out * stride - pad;
  const int64_t last = first + kernel;
  return {first < 0 ? 0 : first, last > size ? size : last};
}

}  // namespace bnn

#endif  // BNN_KERNELS_MAX_POOL_BITS_MAX_POOL_BITS_H_
