#include <algorithm>

#include "base/bits.h"
#include "base/half.h"
#include "kernels/pack_bits/pack_bits.h"

namespace bnn {
namespace {

float ToFloat(float x) { return x; }
float ToFloat(uint16_t x) { return HalfToFloat(x); }

template <typename T>
void Pack(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t begin, int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  for (int64_t position = begin; position < end; ++position) {
    for (int64_t w = 0; w < row_words; ++w) {
      const int64_t first = w * bits::kWordBits;
      const int64_t last = std::min(s.channels, first + bits::kWordBits);
      uint32_t word = 0;
      for (int64_t c = first; c < last; ++c) {
        const float value = ToFloat(x[c * s.positions + position]) * s.sign[c * s.sign_stride];
        const bool set = value >= s.threshold[c * s.threshold_stride];
        word |= static_cast<uint32_t>(set) << (c - first);
      }
      bits[position * row_words + w] = word;
    }
  }
}

}  // namespace

void pack_bits_f32_scalar(const PackBitsShape& shape, const float* x, uint32_t* bits, int64_t begin,
                          int64_t end) {
  Pack(shape, x, bits, begin, end);
}

void pack_bits_f16_scalar(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits,
                          int64_t begin, int64_t end) {
  Pack(shape, x, bits, begin, end);
}

}  // namespace bnn
