// Every variant against the scalar one, for channel counts and maps on both sides of every step.
#include "base/bits.h"
#include "base/cpu.h"
#include "kernels/testing/values.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {
namespace {

using testing::Check;
using testing::Random;

void CheckShape(int64_t channels, int64_t positions, Random* random) {
  const UnpackBitsShape s = {channels, positions};
  const std::vector<uint32_t> bits = testing::Words(positions * bits::WordCount(channels), random);
  const int64_t begin = random->Chance(50) ? 0 : random->Below(positions);
  const int64_t end = random->Chance(50) ? positions : random->Between(begin, positions);
  const auto run = [&](auto kernel) {
    std::vector<float> y(static_cast<size_t>(channels * positions), 7.0f);
    kernel(s, bits.data(), y.data(), begin, end);
    return y;
  };
  const std::vector<float> expected = run(unpack_bits_f32_scalar);
#define BNN_KERNEL(needed, variant)                                                            \
  if (cpu::Has(needed, cpu::Supported())) {                                                    \
    Check(run(unpack_bits_f32_##variant) == expected,                                          \
          "unpack_bits_f32_" #variant " of " + std::to_string(channels) +                      \
              " channels, positions " + std::to_string(begin) + " to " + std::to_string(end) + \
              " of " + std::to_string(positions));                                             \
  }
#include "kernels/unpack_bits/kernels.inc"
#undef BNN_KERNEL
}

BNN_TEST("unpacking equals the scalar variant for every channel count from 1 to 130") {
  Random random(1);
  for (int64_t channels = 1; channels <= 130; ++channels) {
    for (const int64_t positions : {1, 2, 7, 8, 9, 17}) CheckShape(channels, positions, &random);
  }
}

BNN_TEST("unpacking equals the scalar variant for every map size from 1 to 70") {
  Random random(2);
  for (int64_t positions = 1; positions <= 70; ++positions) {
    for (const int64_t channels : {1, 32, 33, 70}) CheckShape(channels, positions, &random);
  }
}

}  // namespace
}  // namespace bnn
