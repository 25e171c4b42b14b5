// The inverse of pack_bits/x86_avx2.cc: with many positions a lane is a position, and 32 channels
// are written one after the other; with one position a lane is a channel.
#include <immintrin.h>

#include <algorithm>

#include "base/bits.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 8;

// Returns +1 where the lane's word has the lane's bit, else -1. `bit` has one bit a lane.
__m256 Values(__m256i words, __m256i bit) {
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(words, bit), bit);
  return _mm256_blendv_ps(_mm256_set1_ps(-1.0f), _mm256_set1_ps(1.0f), _mm256_castsi256_ps(set));
}

void UnpackPositions(const UnpackBitsShape& s, const uint32_t* bits, float* y, int64_t begin,
                     int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  int64_t position = begin;
  for (; position + kLanes <= end; position += kLanes) {
    for (int64_t w = 0; w < row_words; ++w) {
      alignas(32) uint32_t one_each[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) one_each[i] = bits[(position + i) * row_words + w];
      const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(one_each));
      const int64_t first = w * bits::kWordBits;
      const int64_t last = std::min(s.channels, first + bits::kWordBits);
      for (int64_t c = first; c < last; ++c) {
        const __m256i bit = _mm256_set1_epi32(static_cast<int32_t>(1u << (c - first)));
        _mm256_storeu_ps(y + c * s.positions + position, Values(words, bit));
      }
    }
  }
  unpack_bits_f32_scalar(s, bits, y, position, end);
}

void UnpackRow(const UnpackBitsShape& s, const uint32_t* bits, float* y) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  int64_t c = 0;
  for (; c + kLanes <= s.channels; c += kLanes) {
    const uint32_t eight = bits[c / bits::kWordBits] >> (c % bits::kWordBits);
    _mm256_storeu_ps(y + c, Values(_mm256_set1_epi32(static_cast<int32_t>(eight)), bit));
  }
  for (; c < s.channels; ++c) {
    y[c] = (bits[c / bits::kWordBits] >> (c % bits::kWordBits)) & 1u ? 1.0f : -1.0f;
  }
}

}  // namespace

void unpack_bits_f32_avx2(const UnpackBitsShape& shape, const uint32_t* bits, float* y,
                          int64_t begin, int64_t end) {
  if (shape.positions > 1) {
    UnpackPositions(shape, bits, y, begin, end);
  } else if (begin < end) {
    UnpackRow(shape, bits, y);
  }
}

}  // namespace bnn
