// y = +1 where a bit is set, else -1. Layouts are in docs/bit_layout.md.
//
// One call unpacks positions [begin, end) of one image: bits are [positions, WordCount(channels)]
// words, y is [channels, positions]. Pad bits are not looked at. Pointers need no alignment beyond
// their type; nothing outside the given ranges is touched.
#ifndef BNN_KERNELS_UNPACK_BITS_UNPACK_BITS_H_
#define BNN_KERNELS_UNPACK_BITS_UNPACK_BITS_H_

#include <cstdint>

#include "base/cpu.h"

namespace bnn {

struct UnpackBitsShape {
  int64_t channels;
  int64_t positions;
};

struct UnpackBitsKernel {
  const char* name;
  void (*f32)(const UnpackBitsShape& shape, const uint32_t* bits, float* y, int64_t begin,
              int64_t end);
};

// Returns the best variant that the instruction sets in `isa` can run.
UnpackBitsKernel SelectUnpackBits(uint32_t isa = cpu::Supported());

#define BNN_KERNEL(needed, isa)                                                            \
  void unpack_bits_f32_##isa(const UnpackBitsShape& shape, const uint32_t* bits, float* y, \
                             int64_t begin, int64_t end);
#include "kernels/unpack_bits/kernels.inc"
#undef BNN_KERNEL

}  // namespace bnn

#endif  // BNN_KERNELS_UNPACK_BITS_UNPACK_BITS_H_
