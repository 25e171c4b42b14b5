// As x86_avx2.cc with 16 lanes and masked tails.
#include <immintrin.h>

#include <algorithm>

#include "base/bits.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 16;

__mmask16 Lanes(int64_t count) {
  return static_cast<__mmask16>(bits::LowMask(std::min(count, kLanes)));
}

// Returns +1 in the lanes of `set`, -1 in the others.
__m512 Values(__mmask16 set) {
  return _mm512_mask_blend_ps(set, _mm512_set1_ps(-1.0f), _mm512_set1_ps(1.0f));
}

void UnpackPositions(const UnpackBitsShape& s, const uint32_t* bits, float* y, int64_t begin,
                     int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  for (int64_t position = begin; position < end; position += kLanes) {
    const int64_t count = std::min(end - position, kLanes);
    const __mmask16 lanes = Lanes(count);
    for (int64_t w = 0; w < row_words; ++w) {
      alignas(64) uint32_t one_each[kLanes] = {};
      for (int64_t i = 0; i < count; ++i) one_each[i] = bits[(position + i) * row_words + w];
      const __m512i words = _mm512_load_si512(one_each);
      const int64_t first = w * bits::kWordBits;
      const int64_t last = std::min(s.channels, first + bits::kWordBits);
      for (int64_t c = first; c < last; ++c) {
        const __m512i bit = _mm512_set1_epi32(static_cast<int32_t>(1u << (c - first)));
        const __m512 values = Values(_mm512_test_epi32_mask(words, bit));
        _mm512_mask_storeu_ps(y + c * s.positions + position, lanes, values);
      }
    }
  }
}

void UnpackRow(const UnpackBitsShape& s, const uint32_t* bits, float* y) {
  for (int64_t c = 0; c < s.channels; c += kLanes) {
    const uint32_t sixteen = bits[c / bits::kWordBits] >> (c % bits::kWordBits);
    _mm512_mask_storeu_ps(y + c, Lanes(s.channels - c), Values(static_cast<__mmask16>(sixteen)));
  }
}

}  // namespace

void unpack_bits_f32_avx512bw(const UnpackBitsShape& shape, const uint32_t* bits, float* y,
                              int64_t begin, int64_t end) {
  if (shape.positions > 1) {
    UnpackPositions(shape, bits, y, begin, end);
  } else if (begin < end) {
    UnpackRow(shape, bits, y);
  }
}

}  // namespace bnn
