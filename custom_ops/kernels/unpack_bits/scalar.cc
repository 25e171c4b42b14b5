#include "base/bits.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {

void unpack_bits_f32_scalar(const UnpackBitsShape& s, const uint32_t* bits, float* y, int64_t begin,
                            int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  for (int64_t c = 0; c < s.channels; ++c) {
    const uint32_t* column = bits + c / bits::kWordBits;
    const int shift = static_cast<int>(c % bits::kWordBits);
    for (int64_t position = begin; position < end; ++position) {
      const bool set = (column[position * row_words] >> shift) & 1u;
      y[c * s.positions + position] = set ? 1.0f : -1.0f;
    }
  }
}

}  // namespace bnn
