// As x86_avx2.cc with 16 lanes; comparisons give masks, and partial steps are masked loads that
// touch nothing beyond the ranges, so there is no scalar tail.
#include <immintrin.h>

#include <algorithm>

#include "base/bits.h"
#include "kernels/pack_bits/pack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 16;

__mmask16 Lanes(int64_t count) {
  return static_cast<__mmask16>(bits::LowMask(std::min(count, kLanes)));
}

__m512 Load(__mmask16 lanes, const float* x) { return _mm512_maskz_loadu_ps(lanes, x); }
__m512 Load(__mmask16 lanes, const uint16_t* x) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, x));
}

__m512 Vector(__mmask16 lanes, const float* values, int64_t stride, int64_t i) {
  return stride == 0 ? _mm512_set1_ps(*values) : _mm512_maskz_loadu_ps(lanes, values + i);
}

// Packs channels [first, last), at most 32, of kVectors * kLanes positions into one word each. With
// several vectors `lanes` holds all lanes.
template <int kVectors, typename T>
void PackBlock(const PackBitsShape& s, const T* x, __mmask16 lanes, int64_t first, int64_t last,
               uint32_t* one_each) {
  __m512i words[kVectors];
  for (__m512i& w : words) w = _mm512_setzero_si512();
  for (int64_t c = first; c < last; ++c) {
    const __m512 sign = _mm512_set1_ps(s.sign[c * s.sign_stride]);
    const __m512 threshold = _mm512_set1_ps(s.threshold[c * s.threshold_stride]);
    const __m512i bit = _mm512_set1_epi32(static_cast<int32_t>(1u << (c - first)));
    for (int v = 0; v < kVectors; ++v) {
      const __m512 value = _mm512_mul_ps(Load(lanes, x + c * s.positions + v * kLanes), sign);
      const __mmask16 set = _mm512_cmp_ps_mask(value, threshold, _CMP_GE_OQ);
      words[v] = _mm512_mask_or_epi32(words[v], set, words[v], bit);
    }
  }
  for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(one_each + v * kLanes, words[v]);
}

// Packs kVectors * kLanes positions, or the `count` of one vector.
template <int kVectors, typename T>
void PackPositions(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t position,
                   int64_t count) {
  const int64_t row_words = bits::WordCount(s.channels);
  for (int64_t w = 0; w < row_words; ++w) {
    const int64_t first = w * bits::kWordBits;
    const int64_t last = std::min(s.channels, first + bits::kWordBits);
    uint32_t one_each[kVectors * kLanes];
    PackBlock<kVectors>(s, x + position, Lanes(count), first, last, one_each);
    uint32_t* to = bits + position * row_words + w;
    for (int64_t i = 0; i < count; ++i) to[i * row_words] = one_each[i];
  }
}

template <typename T>
void PackMap(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t begin, int64_t end) {
  // A block reads a stretch of every channel's row: four cache lines let the prefetchers follow.
  constexpr int kVectors = 4;
  constexpr int64_t kBlock = kVectors * kLanes;
  for (; begin + kBlock <= end; begin += kBlock) PackPositions<kVectors>(s, x, bits, begin, kBlock);
  for (; begin < end; begin += kLanes) {
    PackPositions<1>(s, x, bits, begin, std::min(end - begin, kLanes));
  }
}

// Packs the whole words of a row with one sign and one threshold; returns the channels done.
template <typename T>
int64_t PackWholeWords(const PackBitsShape& s, const T* x, uint32_t* bits) {
  constexpr __mmask16 kAll = 0xffff;
  const __m512 sign = _mm512_set1_ps(*s.sign), threshold = _mm512_set1_ps(*s.threshold);
  const auto compare = [&](const T* from) {
    const __m512 value = _mm512_mul_ps(Load(kAll, from), sign);
    return _mm512_cmp_ps_mask(value, threshold, _CMP_GE_OQ);
  };
  int64_t c = 0;
  for (; c + bits::kWordBits <= s.channels; c += bits::kWordBits) {
    bits[c / bits::kWordBits] = _mm512_kunpackw(compare(x + c + kLanes), compare(x + c));
  }
  return c;
}

template <typename T>
void PackRow(const PackBitsShape& s, const T* x, uint32_t* bits) {
  const bool one_for_all = s.sign_stride == 0 && s.threshold_stride == 0;
  for (int64_t c = one_for_all ? PackWholeWords(s, x, bits) : 0; c < s.channels;
       c += bits::kWordBits) {
    uint32_t word = 0;
    for (int64_t i = 0; i < bits::kWordBits && c + i < s.channels; i += kLanes) {
      const __mmask16 lanes = Lanes(s.channels - c - i);
      const __m512 value =
          _mm512_mul_ps(Load(lanes, x + c + i), Vector(lanes, s.sign, s.sign_stride, c + i));
      const __m512 threshold = Vector(lanes, s.threshold, s.threshold_stride, c + i);
      const __mmask16 set = _mm512_mask_cmp_ps_mask(lanes, value, threshold, _CMP_GE_OQ);
      word |= static_cast<uint32_t>(set) << i;
    }
    bits[c / bits::kWordBits] = word;
  }
}

template <typename T>
void Pack(const PackBitsShape& s, const T* x, uint32_t* bits, int64_t begin, int64_t end) {
  if (s.positions > 1) {
    PackMap(s, x, bits, begin, end);
  } else if (begin < end) {
    PackRow(s, x, bits);
  }
}

}  // namespace

void pack_bits_f32_avx512bw(const PackBitsShape& shape, const float* x, uint32_t* bits,
                            int64_t begin, int64_t end) {
  Pack(shape, x, bits, begin, end);
}

void pack_bits_f16_avx512bw(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits,
                            int64_t begin, int64_t end) {
  Pack(shape, x, bits, begin, end);
}

}  // namespace bnn
