#include <arm_neon.h>

#include "kernels/ternary/ternary.h"

namespace bnn {
namespace {

float32x4_t Thresholds(const float* threshold, int64_t stride, int64_t i) {
  return stride == 0 ? vdupq_n_f32(*threshold) : vld1q_f32(threshold + i);
}

// Returns (x > t) - (x < -t); a comparison gives 0 or the integer -1, and false where x is NaN.
float32x4_t Codes(float32x4_t x, float32x4_t t) {
  const int32x4_t above = vreinterpretq_s32_u32(vcgtq_f32(x, t));
  const int32x4_t below = vreinterpretq_s32_u32(vcltq_f32(x, vnegq_f32(t)));
  return vcvtq_f32_s32(vsubq_s32(below, above));
}

}  // namespace

void ternary_f32_neon(const float* x, const float* threshold, int64_t stride, float* y,
                      int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    vst1q_f32(y + i, Codes(vld1q_f32(x + i), Thresholds(threshold, stride, i)));
  }
  ternary_f32_scalar(x + i, threshold + i * stride, stride, y + i, count - i);
}

void ternary_f16_neon(const uint16_t* x, const float* threshold, int64_t stride, uint16_t* y,
                      int64_t count) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float32x4_t v = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i)));
    const float32x4_t codes = Codes(v, Thresholds(threshold, stride, i));
    vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(codes)));
  }
  ternary_f16_scalar(x + i, threshold + i * stride, stride, y + i, count - i);
}

}  // namespace bnn
