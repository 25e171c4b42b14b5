// What the AMX multipliers share: sizes, tile configuration and the expansion of weights.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_PANELS_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_PANELS_H_

#include <immintrin.h>

#include <algorithm>

#include "kernels/product/vector_finish.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 64;  // channels of a step
constexpr int64_t kTileBytes = 1024;
constexpr int64_t kHalf = 16;  // output channels of a tile

inline int64_t DepthBlocks(const Shape& s) {
  return (GroupChannels(s) + kTileDepth - 1) / kTileDepth;
}
inline int64_t Steps(const Shape& s) { return DepthBlocks(s) * Taps(s); }
inline int64_t Sums(const Shape& s) { return s.codes == Codes::kTernary ? 2 : 1; }
inline int64_t MasksPerRow(const Shape& s) { return s.codes == Codes::kTernaryEqual ? 2 : 1; }

inline int64_t SumMasks(const Shape& s) { return Steps(s) * kTileRows * MasksPerRow(s); }

// Expands masks to tile rows of bytes, some rows a call.
template <Codes codes>
class PanelExpander {
 public:
  void Start(const uint64_t* masks, int8_t* panel, int64_t rows, int64_t calls) {
    masks_ = masks;
    panel_ = panel;
    left_ = rows;
    quota_ = (rows + calls * kUnroll - 1) / (calls * kUnroll) * kUnroll;
  }

  void Step() { Rows(std::min(quota_, left_)); }
  void Finish() { Rows(left_); }

 private:
  static constexpr int64_t kUnroll = 4;

  static __m512i Bytes(const uint64_t* masks) {
    const __m512i plus = _mm512_set1_epi8(1);
    if (codes == Codes::kBinary) {
      return _mm512_mask_blend_epi8(masks[0], _mm512_set1_epi8(-1), plus);
    }
    if (codes == Codes::kTernary) return _mm512_maskz_mov_epi8(masks[0], plus);
    return _mm512_mask_mov_epi8(_mm512_movm_epi8(masks[1]), masks[0], plus);
  }

  // `count` is a multiple of kUnroll, as the rows of a tile are.
  void Rows(int64_t count) {
    constexpr int64_t kMasks = codes == Codes::kTernaryEqual ? 2 : 1;
    for (int64_t i = 0; i < count; i += kUnroll) {
      for (int64_t j = 0; j < kUnroll; ++j) {
        _mm512_store_si512(panel_ + 64 * j, Bytes(masks_ + kMasks * j));
      }
      masks_ += kMasks * kUnroll;
      panel_ += 64 * kUnroll;
    }
    left_ -= count;
  }

  const uint64_t* masks_ = nullptr;
  int8_t* panel_ = nullptr;
  int64_t left_ = 0, quota_ = 0;
};

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Configures all tiles for `height` rows, those in `full` for 16.
inline void ConfigureTiles(int64_t height, uint32_t full) {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = static_cast<uint8_t>(full >> i & 1u ? kTileRows : height);
  }
  // GCC 12 does not know that the instruction reads the structure.
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_PANELS_H_
