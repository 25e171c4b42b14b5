#include "base/half.h"
#include "kernels/ternary/ternary.h"

namespace bnn {
namespace {

int Code(float x, float t) { return (x > t) - (x < -t); }

}  // namespace

void ternary_f32_scalar(const float* x, const float* threshold, int64_t stride, float* y,
                        int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<float>(Code(x[i], threshold[i * stride]));
  }
}

void ternary_f16_scalar(const uint16_t* x, const float* threshold, int64_t stride, uint16_t* y,
                        int64_t count) {
  constexpr uint16_t kHalfOf[] = {0xbc00, 0x0000, 0x3c00};  // -1, 0, +1
  for (int64_t i = 0; i < count; ++i) {
    y[i] = kHalfOf[1 + Code(HalfToFloat(x[i]), threshold[i * stride])];
  }
}

}  // namespace bnn
