// Real numbers as sums of bf16, which AMX multiplies by codes without an error.
//
// A bf16 is the upper half of a float32: 8 significant bits. Cutting x off there leaves a rest of
// 16 bits, and that again one of 8, so that x = high + middle + low exactly, without rounding up
// past the largest float. A half has 11 significant bits and needs two parts. Parts of size below
// 2^-126 count as 0 in the tiles (docs/operators.md states what that costs).
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_SPLIT_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_SPLIT_H_

#include "kernels/product/x86_amx_panels.h"

namespace bnn::product {
namespace {
namespace amx_float {

constexpr int64_t kDepth = 32;      // channels of a step: a word of codes, a tile row of bf16
constexpr int64_t kRowBytes = 64;   // of one part of a step
constexpr int64_t kMostParts = 3;

inline int64_t Parts(const Shape& s) { return s.x == Element::kFloat16 ? 2 : kMostParts; }

// Writes the parts of 32 channels of a row, the smallest part first. Pair i of a tile row holds
// channels i and i + 16, so that neither rows nor codes need a permutation.
class Splitter {
 public:
  // With ternary codes an infinity meets a 0 in one of the planes, which makes NaN of both sums.
  explicit Splitter(const Shape& s) : parts_(Parts(s)), ternary_(s.codes != Codes::kBinary) {}

  // `part_bytes` is the distance between the parts of a row.
  void Store(__m512 low, __m512 high, uint8_t* row, int64_t part_bytes) const {
    for (int64_t part = parts_ - 1; part >= 0; --part) {
      const __m512i a = Upper(low), b = Upper(high);
      _mm512_store_si512(row + part * part_bytes,
                         _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(a, 16), b));
      low = Rest(low, a);
      high = Rest(high, b);
    }
  }

 private:
  // The upper half. NaN stays NaN even where only the lower half says so.
  __m512i Upper(__m512 x) const {
    const __m512i upper =
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(static_cast<int>(0xffff0000)));
    constexpr int kNan = 0x81, kInfinity = 0x18;
    const __mmask16 nan = ternary_ ? _mm512_fpclass_ps_mask(x, kNan | kInfinity)
                                   : _mm512_fpclass_ps_mask(x, kNan);
    return _mm512_mask_mov_epi32(upper, nan, _mm512_set1_epi32(0x7fc00000));
  }

  // What is left of x; nothing of infinity or NaN, whose difference is NaN.
  static __m512 Rest(__m512 x, __m512i upper) {
    const __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(upper));
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(rest, rest, _CMP_ORD_Q), rest);
  }

  const int64_t parts_;
  const bool ternary_;
};

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_SPLIT_H_
