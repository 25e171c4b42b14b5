#include <immintrin.h>

#include "kernels/ternary/ternary.h"

namespace bnn {
namespace {

__m256 Thresholds(const float* threshold, int64_t stride, int64_t i) {
  return stride == 0 ? _mm256_broadcast_ss(threshold) : _mm256_loadu_ps(threshold + i);
}

// Returns (x > t) - (x < -t); ordered comparisons, so NaN gives 0.
__m256 Codes(__m256 x, __m256 t) {
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 minus_t = _mm256_xor_ps(t, _mm256_set1_ps(-0.0f));
  const __m256 above = _mm256_and_ps(_mm256_cmp_ps(x, t, _CMP_GT_OQ), one);
  const __m256 below = _mm256_and_ps(_mm256_cmp_ps(x, minus_t, _CMP_LT_OQ), one);
  return _mm256_sub_ps(above, below);
}

}  // namespace

void ternary_f32_avx2(const float* x, const float* threshold, int64_t stride, float* y,
                      int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(y + i, Codes(_mm256_loadu_ps(x + i), Thresholds(threshold, stride, i)));
  }
  ternary_f32_scalar(x + i, threshold + i * stride, stride, y + i, count - i);
}

void ternary_f16_avx2(const uint16_t* x, const float* threshold, int64_t stride, uint16_t* y,
                      int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
    const __m256 codes = Codes(v, Thresholds(threshold, stride, i));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(codes, _MM_FROUND_TO_NEAREST_INT));
  }
  ternary_f16_scalar(x + i, threshold + i * stride, stride, y + i, count - i);
}

}  // namespace bnn
