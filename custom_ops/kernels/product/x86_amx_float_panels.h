// Expansion of codes to bf16 tiles, for products of real-valued X.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_PANELS_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_PANELS_H_

#include "kernels/product/x86_amx_float_split.h"

namespace bnn::product {
namespace {
namespace amx_float {

// Lane n of tile row r holds the bf16 codes of output n for channels r and r + 16, bits r and
// r + 16 of its word: one shift brings both to the sign bits. Of ternary codes with two sums
// `words` is one plane, else the second plane follows the first.
template <Codes codes>
inline void ExpandTile(const uint32_t* words, uint8_t* tile) {
  const __m512i signs = _mm512_set1_epi32(static_cast<int>(0x80008000));
  const __m512i one = _mm512_set1_epi32(0x3f803f80);
  __m512i word = _mm512_loadu_si512(words);
  if (codes == Codes::kBinary) {
    const __m512i minus = _mm512_or_si512(one, signs);
#pragma GCC unroll 16
    for (int64_t r = kTileRows - 1; r >= 0; --r, word = _mm512_slli_epi32(word, 1)) {
      constexpr int kAndXor = 0x6a;  // (a & b) ^ c
      _mm512_store_si512(tile + r * kRowBytes,
                         _mm512_ternarylogic_epi32(word, signs, minus, kAndXor));
    }
  } else if (codes == Codes::kTernary) {
#pragma GCC unroll 16
    for (int64_t r = kTileRows - 1; r >= 0; --r, word = _mm512_slli_epi32(word, 1)) {
      _mm512_store_si512(tile + r * kRowBytes, _mm512_and_si512(_mm512_srai_epi16(word, 15), one));
    }
  } else {
    __m512i negative = _mm512_loadu_si512(words + kStrip);
    word = _mm512_or_si512(word, negative);
#pragma GCC unroll 16
    for (int64_t r = kTileRows - 1; r >= 0; --r) {
      constexpr int kAndOr = 0xe0;  // a & (b | c)
      const __m512i some = _mm512_srai_epi16(word, 15), sign = _mm512_and_si512(negative, signs);
      _mm512_store_si512(tile + r * kRowBytes, _mm512_ternarylogic_epi32(some, sign, one, kAndOr));
      word = _mm512_slli_epi32(word, 1);
      negative = _mm512_slli_epi32(negative, 1);
    }
  }
}

// Expands the two tiles of each step of a panel, some of them a call.
template <Codes codes>
class Expander {
 public:
  // Steps are `step_words` apart.
  void Start(const uint32_t* words, int64_t step_words, int64_t steps, uint8_t* panel,
             int64_t calls) {
    words_ = words;
    step_words_ = step_words;
    tile_ = panel;
    left_ = 2 * steps;
    quota_ = (left_ + calls - 1) / calls;
  }

  void Step() { Tiles(std::min(quota_, left_)); }
  void Finish() { Tiles(left_); }

 private:
  void Tiles(int64_t count) {
    for (; count > 0; --count, --left_, tile_ += kTileBytes) {
      const bool second = left_ % 2 == 1;
      ExpandTile<codes>(words_ + (second ? kHalf : 0), tile_);
      if (second) words_ += step_words_;
    }
  }

  const uint32_t* words_ = nullptr;
  uint8_t* tile_ = nullptr;
  int64_t step_words_ = 0, left_ = 0, quota_ = 0;
};

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_PANELS_H_
