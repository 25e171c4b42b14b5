// The inverse of pack_bits/arm_neon.cc: with many positions a lane is a position, whose word is
// turned round so that each shift brings the next channel to the sign of a float; with one position
// a lane is a channel.
#include <arm_neon.h>

#include <algorithm>

#include "base/bits.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 4;
constexpr int kVectors = 4;
constexpr int64_t kBlock = kVectors * kLanes;  // positions a step: one cache line of float32

uint32x4_t Reversed(uint32x4_t words) {
  return vreinterpretq_u32_u8(vrev32q_u8(vrbitq_u8(vreinterpretq_u8_u32(words))));
}

// Writes channels [first, last), at most 32, of kBlock positions from one word each.
void UnpackBlock(const UnpackBitsShape& s, const uint32_t* one_each, int64_t first, int64_t last,
                 float* y) {
  const float32x4_t one = vdupq_n_f32(1.0f);
  const uint32x4_t sign = vdupq_n_u32(0x80000000u);
  uint32x4_t words[kVectors];  // inverted: a clear bit gives the sign
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    words[v] = vmvnq_u32(Reversed(vld1q_u32(one_each + v * kLanes)));
  for (int64_t c = first; c < last; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const float32x4_t value = vbslq_f32(sign, vreinterpretq_f32_u32(words[v]), one);
      vst1q_f32(y + c * s.positions + v * kLanes, value);
      words[v] = vshlq_n_u32(words[v], 1);
    }
  }
}

void UnpackPositions(const UnpackBitsShape& s, const uint32_t* bits, float* y, int64_t begin,
                     int64_t end) {
  const int64_t row_words = bits::WordCount(s.channels);
  int64_t position = begin;
  for (; position + kBlock <= end; position += kBlock) {
    for (int64_t w = 0; w < row_words; ++w) {
      uint32_t one_each[kBlock];
      for (int64_t i = 0; i < kBlock; ++i) one_each[i] = bits[(position + i) * row_words + w];
      const int64_t first = w * bits::kWordBits;
      UnpackBlock(s, one_each, first, std::min(s.channels, first + bits::kWordBits), y + position);
    }
  }
  unpack_bits_f32_scalar(s, bits, y, position, end);
}

void UnpackRow(const UnpackBitsShape& s, const uint32_t* bits, float* y) {
  const uint32x4_t bit = {1, 2, 4, 8};
  const float32x4_t one = vdupq_n_f32(1.0f), minus_one = vdupq_n_f32(-1.0f);
  int64_t c = 0;
  for (; c + kLanes <= s.channels; c += kLanes) {
    const uint32_t four = bits[c / bits::kWordBits] >> (c % bits::kWordBits);
    vst1q_f32(y + c, vbslq_f32(vtstq_u32(vdupq_n_u32(four), bit), one, minus_one));
  }
  for (; c < s.channels; ++c) {
    y[c] = (bits[c / bits::kWordBits] >> (c % bits::kWordBits)) & 1u ? 1.0f : -1.0f;
  }
}

}  // namespace

void unpack_bits_f32_neon(const UnpackBitsShape& shape, const uint32_t* bits, float* y,
                          int64_t begin, int64_t end) {
  if (shape.positions > 1) {
    UnpackPositions(shape, bits, y, begin, end);
  } else if (begin < end) {
    UnpackRow(shape, bits, y);
  }
}

}  // namespace bnn
