#include "kernels/sign/sign.h"

namespace bnn {

void sign_f32_scalar(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] >= 0.0f ? 1.0f : -1.0f;
}

// Without a conversion: a half is >= 0 if its bits are at most those of +infinity, or are -0.0.
void sign_f16_scalar(const uint16_t* x, uint16_t* y, int64_t count) {
  constexpr uint16_t kInfinity = 0x7c00, kMinusZero = 0x8000, kOne = 0x3c00, kMinusOne = 0xbc00;
  for (int64_t i = 0; i < count; ++i) {
    y[i] = x[i] <= kInfinity || x[i] == kMinusZero ? kOne : kMinusOne;
  }
}

}  // namespace bnn
