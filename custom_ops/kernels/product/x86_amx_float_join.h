// Rows where the channels are few: those of all taps side by side, so that steps are full.
//
// The first layer of an image network has three channels; a step for every tap would be nine tenths
// zeros. Here element d of a row is channel d % C of tap d / C, read from X chunk by chunk.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_JOIN_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_JOIN_H_

#include "kernels/product/x86_amx_float_rows.h"

namespace bnn::product {
namespace {
namespace amx_float {

constexpr int64_t kMostJoinedChannels = 16;
constexpr int64_t kMostJoinedSteps = 32;  // bounds the rows of a chunk

inline int64_t JoinedSteps(const Shape& s) {
  return (Taps(s) * GroupChannels(s) + kDepth - 1) / kDepth;
}

// Tells whether the taps of a row lie side by side.
inline bool Joins(const Shape& s) {
  return Taps(s) > 1 && GroupChannels(s) <= kMostJoinedChannels &&
         JoinedSteps(s) <= kMostJoinedSteps;
}

// Sixteen positions: where their first tap lies in X, and which taps of each are inside the image.
class Sixteen {
 public:
  // Positions past the last one repeat it.
  Sixteen(const Block& b, int64_t position, int64_t last) : s_(*b.shape), plan_(*b.plan) {
    const int64_t area = plan_.out_h * plan_.out_w;
    alignas(64) int32_t y[16], x[16], at[16];
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t p = std::min(position + i, last - 1);
      const int64_t image = p / area, oy = p % area / plan_.out_w, ox = p % plan_.out_w;
      y[i] = static_cast<int32_t>(oy * s_.stride_h - s_.pad_top);
      x[i] = static_cast<int32_t>(ox * s_.stride_w - s_.pad_left);
      at[i] =
          static_cast<int32_t>((image * s_.channels * plan_.height + y[i]) * plan_.width + x[i]);
    }
    first_ = at[0];
    line_ = at[15] - at[0] == 15 * s_.stride_w && y[15] == y[0];
    y_ = _mm512_load_si512(y);
    x_ = _mm512_load_si512(x);
    at_ = _mm512_load_si512(at);
  }

  // Turns to a tap.
  void Turn(int64_t ky, int64_t kx) {
    const auto dy = static_cast<int>(ky * s_.dilation_h), dx = static_cast<int>(kx * s_.dilation_w);
    // As unsigned numbers, coordinates before the image are beyond it too.
    inside_ = _mm512_cmplt_epu32_mask(_mm512_add_epi32(y_, _mm512_set1_epi32(dy)),
                                      _mm512_set1_epi32(static_cast<int>(plan_.height)));
    inside_ &= _mm512_cmplt_epu32_mask(_mm512_add_epi32(x_, _mm512_set1_epi32(dx)),
                                       _mm512_set1_epi32(static_cast<int>(plan_.width)));
    offset_ = dy * plan_.width + dx;
  }

  // One channel, whose plane begins at `x`, of the tap.
  __m512 Load(const float* x) const {
    const __m512 outside = _mm512_set1_ps(static_cast<float>(s_.pad_value));
    const float* from = x + offset_;
    if (line_ && s_.stride_w == 1) return _mm512_mask_loadu_ps(outside, inside_, from + first_);
    if (line_ && s_.stride_w == 2) {
      const uint32_t even = _pdep_u32(inside_, 0x55555555u);
      const __m512i lanes =
          _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
      const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(even), from + first_);
      const __m512 high =
          _mm512_maskz_loadu_ps(static_cast<__mmask16>(even >> 16), from + first_ + 16);
      return _mm512_mask_mov_ps(outside, inside_, _mm512_permutex2var_ps(low, lanes, high));
    }
    return _mm512_mask_i32gather_ps(outside, inside_, at_, from, sizeof(float));
  }

  __m512 Load(const uint16_t* x) const {
    alignas(64) int32_t at[16];
    alignas(64) uint16_t halves[16];
    _mm512_store_si512(at, at_);
    for (int i = 0; i < 16; ++i) halves[i] = inside_ >> i & 1 ? x[offset_ + at[i]] : uint16_t{0};
    const __m512 value = _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<__m256i*>(halves)));
    return _mm512_mask_mov_ps(_mm512_set1_ps(static_cast<float>(s_.pad_value)), inside_, value);
  }

 private:
  const Shape& s_;
  const Plan& plan_;
  __m512i y_, x_, at_;
  int64_t first_;
  bool line_;  // neighbours in one line of outputs
  __mmask16 inside_ = 0;
  int64_t offset_ = 0;
};

// Writes the rows of one group for positions begin ... begin + count - 1 of the item, [step][part]
// [row][32], parts `part_bytes` apart. Rows up to a multiple of sixteen are written.
template <typename T>
void JoinRows(const Block& b, int64_t group, int64_t begin, int64_t count, uint8_t* rows,
              int64_t part_bytes) {
  const Shape& s = *b.shape;
  const Splitter splitter(s);
  const int64_t area = b.plan->height * b.plan->width, length = GroupChannels(s);
  const T* planes = reinterpret_cast<const T*>(b.rows.base) + group * length * area;
  for (int64_t p = 0; p < count; p += 16) {
    Sixteen sixteen(b, begin + p, begin + count);
    uint8_t* block = rows + p * kRowBytes;
    int64_t tap = 0, channel = 0;
    sixteen.Turn(0, 0);
    for (int64_t step = 0; step < JoinedSteps(s); ++step, block += Parts(s) * part_bytes) {
      __m512 depths[kDepth];
      for (__m512& depth : depths) {
        depth = tap < Taps(s) ? sixteen.Load(planes + channel * area) : _mm512_setzero_ps();
        if (++channel < length) continue;
        channel = 0;
        ++tap;
        sixteen.Turn(tap / s.kernel_w, tap % s.kernel_w);
      }
      V16::Transpose(depths);
      V16::Transpose(depths + 16);
      for (int64_t i = 0; i < 16; ++i) {
        splitter.Store(depths[i], depths[i + 16], block + i * kRowBytes, part_bytes);
      }
    }
  }
}

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_JOIN_H_
