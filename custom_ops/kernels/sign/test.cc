// Every variant against the scalar one, element by element, at odd addresses.
#include "base/cpu.h"
#include "kernels/sign/sign.h"
#include "kernels/testing/values.h"

namespace bnn {
namespace {

using testing::Check;
using testing::Random;

constexpr int64_t kLargest = 70;

template <typename T, typename Run>
void CompareWithScalar(const std::vector<T>& x, Run run, Run scalar, const std::string& name) {
  for (int64_t count = 0; count <= kLargest; ++count) {
    const std::vector<T> input(x.begin(), x.begin() + count + 1);
    std::vector<T> y(input.size()), expected(input.size());
    run(input.data() + 1, y.data() + 1, count);
    scalar(input.data() + 1, expected.data() + 1, count);
    Check(y == expected, name + " of " + std::to_string(count) + " elements");
  }
}

BNN_TEST("the sign of every variant equals the scalar one") {
  Random random(1);
  const std::vector<float> x = testing::Floats(kLargest + 1, &random);
#define BNN_KERNEL(needed, variant)                                                  \
  if (cpu::Has(needed, cpu::Supported())) {                                          \
    CompareWithScalar(x, sign_f32_##variant, sign_f32_scalar, "sign_f32_" #variant); \
    CompareWithScalar(testing::Halves(x), sign_f16_##variant, sign_f16_scalar,       \
                      "sign_f16_" #variant);                                         \
  }
#include "kernels/sign/kernels.inc"
#undef BNN_KERNEL
}

BNN_TEST("the sign of every half equals the sign of its float value") {
  std::vector<uint16_t> x(1 << 16), y(1 << 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
#define BNN_KERNEL(needed, variant)                                                          \
  if (cpu::Has(needed, cpu::Supported())) {                                                  \
    sign_f16_##variant(x.data(), y.data(), static_cast<int64_t>(x.size()));                  \
    for (size_t i = 0; i < x.size(); ++i) {                                                  \
      const float expected = HalfToFloat(x[i]) >= 0.0f ? 1.0f : -1.0f;                       \
      Check(HalfToFloat(y[i]) == expected, "sign_f16_" #variant " of " + std::to_string(i)); \
    }                                                                                        \
  }
#include "kernels/sign/kernels.inc"
#undef BNN_KERNEL
}

}  // namespace
}  // namespace bnn
