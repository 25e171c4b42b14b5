#include <arm_neon.h>

#include "kernels/sign/sign.h"

namespace bnn {

void sign_f32_neon(const float* x, float* y, int64_t count) {
  const float32x4_t one = vdupq_n_f32(1.0f), minus_one = vdupq_n_f32(-1.0f);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    vst1q_f32(y + i, vbslq_f32(vcgezq_f32(vld1q_f32(x + i)), one, minus_one));  // NaN is not >= 0
  }
  sign_f32_scalar(x + i, y + i, count - i);
}

// The bits of a half that is >= 0 are at most those of +infinity, or are -0.0.
void sign_f16_neon(const uint16_t* x, uint16_t* y, int64_t count) {
  const uint16x8_t infinity = vdupq_n_u16(0x7c00), minus_zero = vdupq_n_u16(0x8000);
  const uint16x8_t one = vdupq_n_u16(0x3c00), minus_one = vdupq_n_u16(0xbc00);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint16x8_t v = vld1q_u16(x + i);
    const uint16x8_t positive = vorrq_u16(vcleq_u16(v, infinity), vceqq_u16(v, minus_zero));
    vst1q_u16(y + i, vbslq_u16(positive, one, minus_one));
  }
  sign_f16_scalar(x + i, y + i, count - i);
}

}  // namespace bnn
