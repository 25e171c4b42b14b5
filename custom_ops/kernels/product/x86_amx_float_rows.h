// Rows of real-valued channels in parts: [group][depth block][part][row][32] bf16.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_ROWS_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_ROWS_H_

#include "base/half.h"
#include "kernels/product/x86_amx_float_split.h"

namespace bnn::product {
namespace {
namespace amx_float {

inline __mmask16 FirstLanes(int64_t count) {
  return count >= 16 ? 0xffff : static_cast<__mmask16>((1u << std::max<int64_t>(count, 0)) - 1u);
}

// Lane i is x[i * step] where i < count, else 0.
inline __m512 LoadStrided(const float* x, int64_t step, int64_t count) {
  const __mmask16 lanes = FirstLanes(count);
  if (step == 1) return _mm512_maskz_loadu_ps(lanes, x);
  alignas(64) float values[16] = {};
  for (int64_t i = 0; i < std::min<int64_t>(count, 16); ++i) values[i] = x[i * step];
  return _mm512_load_ps(values);
}

inline __m512 LoadStrided(const uint16_t* x, int64_t step, int64_t count) {
  const __mmask16 lanes = FirstLanes(count);
  if (step == 1) return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, x));
  alignas(64) uint16_t values[16] = {};
  for (int64_t i = 0; i < std::min<int64_t>(count, 16); ++i) values[i] = x[i * step];
  return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(values)));
}

constexpr int64_t kNearBlocks = 8;  // read together, so that memory is read in order

// Parts of all channels of a group that are neighbours in memory.
template <typename T>
void SplitPixels(const Splitter& splitter, const T* x, const Pixels& pixels, int64_t channels,
                 uint8_t* rows, int64_t block_bytes, int64_t part_bytes) {
  for (int64_t near = 0; near < channels; near += kNearBlocks * kDepth) {
    const int64_t end = std::min(channels, near + kNearBlocks * kDepth);
    for (int64_t i = 0; i < pixels.count; ++i) {
      const T* pixel = x + i * pixels.pixel_step;
      for (int64_t c = near; c < end; c += kDepth) {
        splitter.Store(LoadStrided(pixel + c, 1, channels - c),
                       LoadStrided(pixel + c + 16, 1, channels - c - 16),
                       rows + c / kDepth * block_bytes + i * kRowBytes, part_bytes);
      }
    }
  }
}

// Parts of `count` <= 32 channels where channels lie apart: sixteen pixels at a time are transposed
// in registers.
template <typename T>
void SplitPlanes(const Splitter& splitter, const T* x, const Pixels& pixels, int64_t count,
                 uint8_t* row, int64_t part_bytes) {
  for (int64_t i = 0; i < pixels.count; i += 16, x += 16 * pixels.pixel_step) {
    const int64_t some = std::min<int64_t>(16, pixels.count - i);
    __m512 channels[kDepth];
    for (int64_t c = 0; c < kDepth; ++c) {
      channels[c] = c < count ? LoadStrided(x + c * pixels.channel_step, pixels.pixel_step, some)
                              : _mm512_setzero_ps();
    }
    V16::Transpose(channels);
    V16::Transpose(channels + 16);
    for (int64_t p = 0; p < some; ++p, row += kRowBytes) {
      splitter.Store(channels[p], channels[p + 16], row, part_bytes);
    }
  }
}

template <typename T>
void ExpandRows(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  const Splitter splitter(s);
  const int64_t part_bytes = rows.count * kRowBytes, block_bytes = Parts(s) * part_bytes;
  const int64_t length = GroupChannels(s);
  uint8_t* row = rows.base + first * kRowBytes;
  for (int64_t g = 0; g < s.group; ++g, row += GroupWords(s) * block_bytes) {
    const T* x = static_cast<const T*>(pixels.x) + g * length * pixels.channel_step;
    if (pixels.channel_step == 1) {
      SplitPixels(splitter, x, pixels, length, row, block_bytes, part_bytes);
      continue;
    }
    for (int64_t c = 0; c < length; c += kDepth) {
      SplitPlanes(splitter, x + c * pixels.channel_step, pixels, std::min(kDepth, length - c),
                  row + c / kDepth * block_bytes, part_bytes);
    }
  }
}

inline int64_t RowBytes(const Shape& s) { return s.group * GroupWords(s) * Parts(s) * kRowBytes; }

inline void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  return s.x == Element::kFloat16 ? ExpandRows<uint16_t>(s, rows, first, pixels)
                                  : ExpandRows<float>(s, rows, first, pixels);
}

inline void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  const Splitter splitter(s);
  const __m512 value = _mm512_set1_ps(static_cast<float>(s.pad_value));
  const int64_t part_bytes = rows.count * kRowBytes;
  uint8_t* block = rows.base + first * kRowBytes;
  for (int64_t g = 0; g < s.group; ++g) {
    for (int64_t c = 0; c < GroupChannels(s); c += kDepth, block += Parts(s) * part_bytes) {
      const int64_t left = GroupChannels(s) - c;
      const __m512 low = _mm512_maskz_mov_ps(FirstLanes(left), value);
      const __m512 high = _mm512_maskz_mov_ps(FirstLanes(left - 16), value);
      for (int64_t i = 0; i < count; ++i) {
        splitter.Store(low, high, block + i * kRowBytes, part_bytes);
      }
    }
  }
}

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_ROWS_H_
