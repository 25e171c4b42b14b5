// Two ways to pack. Many positions: a lane is a position, and 32 channels are compared one after
// the other, each leaving its bit in the lanes' words, so that x is read along its rows once. One
// position: a lane is a channel, and a comparison's mask is eight bits of the word.
#include <immintrin.h>

#include <algorithm>

#include "base/bits.h"
#include "kernels/pack_bits/pack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 8;
constexpr int kVectors = 2;
constexpr int64_t kBlock = kVectors * kLanes;  // positions a step: one cache line of float32

__m256 Load(const float* x) { return _mm256_loadu_ps(x); }
__m256 Load(const uint16_t* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

__m256 Vector(const float* values, int64_t stride, int64_t i) {
  return stride == 0 ? _mm256_broadcast_ss(values) : _mm256_loadu_ps(values + i);
}

void ScalarPack(const PackBitsShape& s, const float* x, uint32_t* bits, int64_t begin,
                int64_t end) {
  pack_bits_f32_scalar(s, x, bits, begin, end);
}
void ScalarPack(const PackBitsShape& s, const uint16_t* x, uint32_t* bits, int64_t begin,
                int64_t end) {
  pack_bits_f16_scalar(s, x, bits, begin, end);
}

// Packs channels [first, last), at most 32, of kBlock positions into one word each.
template <typename T>
void PackBlock(const PackBitsShape& s, const T* x, int64_t first, int64_t last, uint32_t* words) {
  __m256i sums[kVectors];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (int64_t c = first; c < last; ++c) {
    const __m256 sign = _mm256_broadcast_ss(s.sign + c * s.sign_stride);
    const __m256 threshold = _mm256_broadcast_ss(s.threshold + c * s.threshold_stride);
    const __m256i bit = _mm256_set1_epi32(static_cast<int32_t>(1u << (c - first)));
    for (int v = 0; v < kVectors; ++v) {
      const __m256 value = _mm256_mul_ps(Load(x + c * s.positions + v * kLanes), sign);
      const __m256i set = _mm256_castps_si256(_mm256_cmp_ps(value, threshold, _CMP_GE_OQ));
      sums[v] = _mm256_or_si256(sums[v], _mm256_and_si256(set, bit));
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + v * kLanes), sums[v]);
  }
}

template <typename T>
void PackPositions(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t begin, int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  int64_t position = begin;
  for (; position + kBlock <= end; position += kBlock) {
    for (int64_t w = 0; w < row_words; ++w) {
      const int64_t first = w * bits::kWordBits;
      uint32_t words[kBlock];
      PackBlock(s, x + position, first, std::min(s.channels, first + bits::kWordBits), words);
      for (int64_t i = 0; i < kBlock; ++i) bits[(position + i) * row_words + w] = words[i];
    }
  }
  ScalarPack(s, x, bits, position, end);
}

template <typename T>
void PackRow(const PackBitsShape& s, const T* x, uint32_t* bits) {
  const int64_t full_words = s.channels / bits::kWordBits;
  for (int64_t w = 0; w < full_words; ++w) {
    uint32_t word = 0;
    for (int64_t i = 0; i < bits::kWordBits; i += kLanes) {
      const int64_t c = w * bits::kWordBits + i;
      const __m256 value = _mm256_mul_ps(Load(x + c), Vector(s.sign, s.sign_stride, c));
      const __m256 set =
          _mm256_cmp_ps(value, Vector(s.threshold, s.threshold_stride, c), _CMP_GE_OQ);
      word |= static_cast<uint32_t>(_mm256_movemask_ps(set)) << i;
    }
    bits[w] = word;
  }
  const int64_t done = full_words * bits::kWordBits;
  const PackBitsShape rest = {s.channels - done,
                              1,
                              s.sign + done * s.sign_stride,
                              s.sign_stride,
                              s.threshold + done * s.threshold_stride,
                              s.threshold_stride};
  if (rest.channels > 0) ScalarPack(rest, x + done, bits + full_words, 0, 1);
}

template <typename T>
void Pack(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t begin, int64_t end) {
  if (s.positions > 1) {
    PackPositions(s, x, bits, begin, end);
  } else if (begin < end) {
    PackRow(s, x, bits);
  }
}

}  // namespace

void pack_bits_f32_avx2(const PackBitsShape& shape, const float* x, uint32_t* bits, int64_t begin,
                        int64_t end) {
  Pack(shape, x, bits, begin, end);
}

void pack_bits_f16_avx2(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits,
                        int64_t begin, int64_t end) {
  Pack(shape, x, bits, begin, end);
}

}  // namespace bnn
