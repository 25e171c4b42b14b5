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

constexpr int64_t kDepth = 32;     // channels of a step: a word of codes, a tile row of bf16
constexpr int64_t kRowBytes = 64;  // of one part of a step
constexpr int64_t kMostParts = 3;

inline int64_t Parts(const Shape& s) { return s.x == Element::kFloat16 ? 2 : kMostParts; }

// Writes the parts of 32 channels of a row, the smallest part first in memory. Pair i of a tile row
// holds channels i and i + 16, so that neither rows nor codes need a permutation.
class Splitter {
 public:
  // With ternary codes an infinity meets a 0 in one of the planes, which makes NaN of both sums.
  explicit Splitter(const Shape& s) : parts_(Parts(s)), ternary_(s.codes != Codes::kBinary) {}

  // `part_bytes` is the distance between the parts of a row.
  void Store(__m512 low, __m512 high, uint8_t* row, int64_t part_bytes) const {
    constexpr int kNotFinite = 0x99;
    row += (parts_ - 1) * part_bytes;
    if (_kortestz_mask16_u8(_mm512_fpclass_ps_mask(low, kNotFinite),
                            _mm512_fpclass_ps_mask(high, kNotFinite))) {
      for (int64_t part = 1; part < parts_; ++part, row -= part_bytes) {
        StorePart(low, high, row);
        low = _mm512_sub_ps(low, Upper(low));
        high = _mm512_sub_ps(high, Upper(high));
      }
      StorePart(low, high, row);
      return;
    }
    StorePart(Special(low), Special(high), row);
    for (int64_t part = 1; part < parts_; ++part) {
      row -= part_bytes;
      low = Rest(low);
      high = Rest(high);
      StorePart(low, high, row);
    }
  }

 private:
  static __m512 Upper(__m512 x) {
    return _mm512_and_ps(x, _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xffff0000))));
  }

  static void StorePart(__m512 low, __m512 high, uint8_t* row) {
    const __m512i pairs = _mm512_srli_epi32(_mm512_castps_si512(low), 16);
    _mm512_store_si512(row, _mm512_mask_blend_epi16(0xaaaaaaaa, pairs, _mm512_castps_si512(high)));
  }

  // NaN stays NaN even where only the lower half says so.
  __m512 Special(__m512 x) const {
    constexpr int kNan = 0x81, kInfinity = 0x18;
    const __mmask16 nan =
        ternary_ ? _mm512_fpclass_ps_mask(x, kNan | kInfinity) : _mm512_fpclass_ps_mask(x, kNan);
    return _mm512_mask_mov_ps(x, nan, _mm512_set1_ps(__builtin_nanf("")));
  }

  // What is left of x; nothing of infinity or NaN, whose difference is NaN.
  static __m512 Rest(__m512 x) {
    const __m512 rest = _mm512_sub_ps(x, Upper(x));
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(rest, rest, _CMP_ORD_Q), rest);
  }

  const int64_t parts_;
  const bool ternary_;
};

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_SPLIT_H_
