// Bits of (x * sign >= threshold), in float32: NaN gives 0. Layouts are in docs/bit_layout.md.
//
// One call packs positions [begin, end) of one image: x is [channels, positions], the result is
// [positions, WordCount(channels)] words whose pad bits are 0. With one position x is a plain row.
// Pointers need no alignment beyond their type; nothing outside the given ranges is touched.
#ifndef BNN_KERNELS_PACK_BITS_PACK_BITS_H_
#define BNN_KERNELS_PACK_BITS_PACK_BITS_H_

#include <cstdint>

#include "base/cpu.h"

namespace bnn {

struct PackBitsShape {
  int64_t channels;
  int64_t positions;
  const float* sign;  // per channel (stride 1) or one for all (stride 0)
  int64_t sign_stride;
  const float* threshold;
  int64_t threshold_stride;
};

struct PackBitsKernel {
  const char* name;
  void (*f32)(const PackBitsShape& shape, const float* x, uint32_t* bits, int64_t begin,
              int64_t end);
  void (*f16)(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits, int64_t begin,
              int64_t end);  // binary16
};

// Returns the best variant that the instruction sets in `isa` can run.
PackBitsKernel SelectPackBits(uint32_t isa = cpu::Supported());

#define BNN_KERNEL(needed, isa)                                                           \
  void pack_bits_f32_##isa(const PackBitsShape& shape, const float* x, uint32_t* bits,    \
                           int64_t begin, int64_t end);                                   \
  void pack_bits_f16_##isa(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits, \
                           int64_t begin, int64_t end);
#include "kernels/pack_bits/kernels.inc"
#undef BNN_KERNEL

}  // namespace bnn

#endif  // BNN_KERNELS_PACK_BITS_PACK_BITS_H_
