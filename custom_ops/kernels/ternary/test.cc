// Every variant against the scalar one, element by element, at odd addresses.
#include "base/cpu.h"
#include "kernels/ternary/ternary.h"
#include "kernels/testing/values.h"

namespace bnn {
namespace {

using testing::Check;
using testing::Random;

constexpr int64_t kLargest = 70;

template <typename T, typename Run>
void CompareWithScalar(const std::vector<T>& x, const std::vector<float>& thresholds, Run run,
                       Run scalar, const std::string& name) {
  for (int64_t count = 0; count <= kLargest; ++count) {
    for (const int64_t stride : {0, 1}) {
      const std::vector<T> input(x.begin(), x.begin() + count + 1);
      const int64_t used = stride == 0 ? 1 : count;
      const std::vector<float> t(thresholds.begin(), thresholds.begin() + used);
      std::vector<T> y(input.size()), expected(input.size());
      run(input.data() + 1, t.data(), stride, y.data() + 1, count);
      scalar(input.data() + 1, t.data(), stride, expected.data() + 1, count);
      Check(y == expected, name + " of " + std::to_string(count) + " elements");
    }
  }
}

BNN_TEST("the ternary code of every variant equals the scalar one") {
  Random random(1);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const std::vector<float> x = testing::Floats(kLargest + 1, &random);
    std::vector<float> thresholds = testing::Floats(kLargest, &random);
    // Some values lie exactly at a threshold.
    for (size_t i = 0; i < thresholds.size(); i += 3) thresholds[i] = x[i + 1];
#define BNN_KERNEL(needed, variant)                                                              \
  if (cpu::Has(needed, cpu::Supported())) {                                                      \
    CompareWithScalar(x, thresholds, ternary_f32_##variant, ternary_f32_scalar,                  \
                      "ternary_f32_" #variant);                                                  \
    CompareWithScalar(testing::Halves(x), thresholds, ternary_f16_##variant, ternary_f16_scalar, \
                      "ternary_f16_" #variant);                                                  \
  }
#include "kernels/ternary/kernels.inc"
#undef BNN_KERNEL
  }
}

}  // namespace
}  // namespace bnn
