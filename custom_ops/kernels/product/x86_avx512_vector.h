// Sixteen 32-bit lanes, as vector_finish.h wants them. Needs AVX-512 F, BW, DQ, VL only.
#ifndef BNN_KERNELS_PRODUCT_X86_AVX512_VECTOR_H_
#define BNN_KERNELS_PRODUCT_X86_AVX512_VECTOR_H_

#include <immintrin.h>

#include <cstdint>

namespace bnn::product {
namespace {

struct V16 {
  static constexpr int kLanes = 16;
  using Float = __m512;
  using Int = __m512i;
  using Mask = __mmask16;

  // Comparisons of some vectors become one word.
  class Bits {
   public:
    void Add(int lane, Mask m) { word_ |= static_cast<uint32_t>(m) << lane; }
    uint32_t Word() const { return word_; }

   private:
    uint32_t word_ = 0;
  };

  static Float FromSums(const int32_t* p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }
  static Float FromSums(const float* p) { return Load(p); }
  static Int LoadInts(const int32_t* p) { return _mm512_loadu_si512(p); }
  static Mask GreaterEqualInts(const int32_t* p, Int least) {
    return _mm512_cmpge_epi32_mask(LoadInts(p), least);
  }
  static Mask GreaterEqualInts(const float*, Int) { return 0; }  // never called, only compiled
  static Float Load(const float* p) { return _mm512_loadu_ps(p); }
  static Float Zero() { return _mm512_setzero_ps(); }
  static Float Broadcast(float v) { return _mm512_set1_ps(v); }
  // Second operand where either is NaN.
  static Float Max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float Ceil(Float v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  }
  static void StoreInts(int32_t* p, Float v) { _mm512_storeu_si512(p, _mm512_cvtps_epi32(v)); }
  static Float Mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float Add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float Sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Mask GreaterEqual(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static Float Select(Mask m, Float yes, Float no) { return _mm512_mask_blend_ps(m, no, yes); }
  static Float MulAdd(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Mask FromBits(uint32_t bits) { return static_cast<__mmask16>(bits); }
  static void Store(float* p, Float v) { _mm512_storeu_ps(p, v); }

  // First `count` lanes only; the others read as 0 and are not written.
  static Float LoadPart(const float* p, int count) {
    return _mm512_maskz_loadu_ps(Lanes(count), p);
  }
  static void StorePart(float* p, int count, Float v) { _mm512_mask_storeu_ps(p, Lanes(count), v); }
  static Float LoadPart(const uint16_t* p, int count) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(Lanes(count), p));
  }
  static void StorePart(uint16_t* p, int count, Float v) {
    _mm256_mask_storeu_epi16(p, Lanes(count), ToHalf(v));
  }
  static Float RoundToHalf(Float v) { return _mm512_cvtph_ps(ToHalf(v)); }

  // words |= bit where m.
  static Int OrBit(Int words, Mask m, uint32_t bit) {
    return _mm512_mask_or_epi32(words, m, words, _mm512_set1_epi32(static_cast<int>(bit)));
  }
  static Int ZeroWords() { return _mm512_setzero_si512(); }
  static void StoreWords(uint32_t* p, Int v) { _mm512_storeu_si512(p, v); }

  // rows[i] lane j becomes rows[j] lane i: 32-bit pairs, 64-bit pairs, then 128-bit quarters.
  static void Transpose(Float* rows) {
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      const __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
      const __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
      rows[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
      rows[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
      rows[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
      rows[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; ++i) {
      const __m512 low = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0x88);
      const __m512 high = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0xdd);
      const __m512 low2 = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0x88);
      const __m512 high2 = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0xdd);
      rows[i] = _mm512_shuffle_f32x4(low, low2, 0x88);
      rows[i + 4] = _mm512_shuffle_f32x4(high, high2, 0x88);
      rows[i + 8] = _mm512_shuffle_f32x4(low, low2, 0xdd);
      rows[i + 12] = _mm512_shuffle_f32x4(high, high2, 0xdd);
    }
  }

 private:
  static __mmask16 Lanes(int count) { return static_cast<__mmask16>((1u << count) - 1u); }
  static __m256i ToHalf(Float v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AVX512_VECTOR_H_
