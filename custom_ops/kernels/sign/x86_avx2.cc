#include <immintrin.h>

#include "kernels/sign/sign.h"

namespace bnn {

void sign_f32_avx2(const float* x, float* y, int64_t count) {
  const __m256 zero = _mm256_setzero_ps();
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 minus_one = _mm256_set1_ps(-1.0f);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // An ordered comparison: NaN is not >= 0.
    const __m256 positive = _mm256_cmp_ps(_mm256_loadu_ps(x + i), zero, _CMP_GE_OQ);
    _mm256_storeu_ps(y + i, _mm256_blendv_ps(minus_one, one, positive));
  }
  sign_f32_scalar(x + i, y + i, count - i);
}

void sign_f16_avx2(const uint16_t* x, uint16_t* y, int64_t count) {
  // In signed 16-bit order the halves >= +0.0 are 0 ... 0x7c00, and -0.0 is the smallest of all.
  const __m256i minus_zero = _mm256_set1_epi16(static_cast<int16_t>(0x8000));
  const __m256i infinity = _mm256_set1_epi16(0x7c00);
  const __m256i minus_sign = minus_zero;
  const __m256i one = _mm256_set1_epi16(0x3c00);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    const __m256i below =
        _mm256_andnot_si256(_mm256_cmpeq_epi16(v, minus_zero), _mm256_srai_epi16(v, 15));
    const __m256i negative = _mm256_or_si256(below, _mm256_cmpgt_epi16(v, infinity));
    const __m256i result = _mm256_or_si256(one, _mm256_and_si256(negative, minus_sign));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), result);
  }
  sign_f16_scalar(x + i, y + i, count - i);
}

}  // namespace bnn
