// Eight 32-bit lanes, as vector_finish.h wants them. Needs AVX2 and F16C only.
#ifndef BNN_KERNELS_PRODUCT_X86_AVX2_VECTOR_H_
#define BNN_KERNELS_PRODUCT_X86_AVX2_VECTOR_H_

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace bnn::product {
namespace {

struct V8 {
  static constexpr int kLanes = 8;
  using Float = __m256;
  using Int = __m256i;
  using Mask = __m256;  // all ones or all zeros a lane

  // Comparisons of some vectors become one word.
  class Bits {
   public:
    void Add(int lane, Mask m) { word_ |= static_cast<uint32_t>(_mm256_movemask_ps(m)) << lane; }
    uint32_t Word() const { return word_; }

   private:
    uint32_t word_ = 0;
  };

  static Int LoadInts(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Mask GreaterEqualInts(const int32_t* p, Int least) {
    const __m256i less = _mm256_cmpgt_epi32(least, LoadInts(p));
    return _mm256_castsi256_ps(_mm256_xor_si256(less, _mm256_set1_epi32(-1)));
  }
  static Mask GreaterEqualInts(const float*, Int) { return Zero(); }  // never called, only compiled
  static Float FromSums(const int32_t* p) { return _mm256_cvtepi32_ps(LoadInts(p)); }
  static Float FromSums(const float* p) { return Load(p); }
  static Float Load(const float* p) { return _mm256_loadu_ps(p); }
  static Float Zero() { return _mm256_setzero_ps(); }
  static Float Broadcast(float v) { return _mm256_set1_ps(v); }
  // Second operand where either is NaN.
  static Float Max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float Ceil(Float v) { return _mm256_ceil_ps(v); }
  static void StoreInts(int32_t* p, Float v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_cvtps_epi32(v));
  }
  static Float Mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float Add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float Sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Mask GreaterEqual(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
  static Float Select(Mask m, Float yes, Float no) { return _mm256_blendv_ps(no, yes, m); }
  static Float MulAdd(Float a, Float b, Float c) { return Add(Mul(a, b), c); }
  static Mask FromBits(uint32_t bits) {
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lane));
  }
  static void Store(float* p, Float v) { _mm256_storeu_ps(p, v); }

  // First `count` lanes only; the others read as 0 and are not written.
  static Float LoadPart(const float* p, int count) { return _mm256_maskload_ps(p, Lanes(count)); }
  static void StorePart(float* p, int count, Float v) { _mm256_maskstore_ps(p, Lanes(count), v); }
  static Float LoadPart(const uint16_t* p, int count) {
    uint16_t halves[8] = {};
    std::memcpy(halves, p, static_cast<size_t>(count) * sizeof(uint16_t));
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
  }
  static void StorePart(uint16_t* p, int count, Float v) {
    uint16_t halves[8];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves), ToHalf(v));
    std::memcpy(p, halves, static_cast<size_t>(count) * sizeof(uint16_t));
  }
  static Float RoundToHalf(Float v) { return _mm256_cvtph_ps(ToHalf(v)); }

  // words |= bit where m.
  static Int OrBit(Int words, Mask m, uint32_t bit) {
    const __m256i chosen =
        _mm256_and_si256(_mm256_castps_si256(m), _mm256_set1_epi32(static_cast<int>(bit)));
    return _mm256_or_si256(words, chosen);
  }
  static Int ZeroWords() { return _mm256_setzero_si256(); }
  static void StoreWords(uint32_t* p, Int v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }

  // rows[i] lane j becomes rows[j] lane i: 32-bit pairs, 64-bit pairs, then halves.
  static void Transpose(Float* rows) {
    __m256 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
      u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
      rows[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
  }

 private:
  static __m256i Lanes(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m128i ToHalf(Float v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AVX2_VECTOR_H_
