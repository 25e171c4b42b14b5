// Two ways to pack. Many positions: a lane is a position, and SRI pushes one comparison after the
// other into the top of the lane's word, so that x is read along its rows once. One position: a
// lane is a channel, and eight comparisons are narrowed to a word.
#include <arm_neon.h>

#include <algorithm>

#include "base/arm_neon_masks.h"
#include "base/bits.h"
#include "kernels/pack_bits/pack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 4;
constexpr int kVectors = 4;
constexpr int64_t kBlock = kVectors * kLanes;  // positions a step: one cache line of float32

float32x4_t Load(const float* x) { return vld1q_f32(x); }
float32x4_t Load(const uint16_t* x) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x))); }

float32x4_t Vector(const float* values, int64_t stride, int64_t i) {
  return stride == 0 ? vdupq_n_f32(*values) : vld1q_f32(values + i);
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
  uint32x4_t sums[kVectors];
  for (uint32x4_t& sum : sums) sum = vdupq_n_u32(0);
  for (int64_t c = first; c < last; ++c) {
    const float32x4_t sign = vdupq_n_f32(s.sign[c * s.sign_stride]);
    const float32x4_t threshold = vdupq_n_f32(s.threshold[c * s.threshold_stride]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const float32x4_t value = vmulq_f32(Load(x + c * s.positions + v * kLanes), sign);
      sums[v] = vsriq_n_u32(vcgeq_f32(value, threshold), sums[v], 1);
    }
  }
  // The bits of `last - first` channels lie at the top.
  const int32x4_t down = vdupq_n_s32(static_cast<int32_t>(last - first - bits::kWordBits));
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) vst1q_u32(words + v * kLanes, vshlq_u32(sums[v], down));
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
    uint32x4_t masks[bits::kWordBits / kLanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < bits::kWordBits / kLanes; ++i) {
      const int64_t c = w * bits::kWordBits + i * kLanes;
      const float32x4_t value = vmulq_f32(Load(x + c), Vector(s.sign, s.sign_stride, c));
      masks[i] = vcgeq_f32(value, Vector(s.threshold, s.threshold_stride, c));
    }
    bits[w] = neon::Word(masks);
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

void pack_bits_f32_neon(const PackBitsShape& shape, const float* x, uint32_t* bits, int64_t begin,
                        int64_t end) {
  Pack(shape, x, bits, begin, end);
}

void pack_bits_f16_neon(const PackBitsShape& shape, const uint16_t* x, uint32_t* bits,
                        int64_t begin, int64_t end) {
  Pack(shape, x, bits, begin, end);
}

}  // namespace bnn
