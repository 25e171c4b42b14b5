// Every variant against the scalar one, for channel counts and maps on both sides of every step.
#include "base/bits.h"
#include "base/cpu.h"
#include "kernels/pack_bits/pack_bits.h"
#include "kernels/testing/values.h"

namespace bnn {
namespace {

using testing::Check;
using testing::Random;

constexpr uint32_t kUntouched = 0xa5a5a5a5u;

template <typename T, typename Run>
void CompareWithScalar(const PackBitsShape& s, const std::vector<T>& x, int64_t begin, int64_t end,
                       Run run, Run scalar, const std::string& name) {
  const size_t words = static_cast<size_t>(s.positions * bits::WordCount(s.channels));
  std::vector<uint32_t> packed(words, kUntouched), expected(words, kUntouched);
  run(s, x.data(), packed.data(), begin, end);
  scalar(s, x.data(), expected.data(), begin, end);
  Check(packed == expected, name + " of " + std::to_string(s.channels) + " channels, positions " +
                                std::to_string(begin) + " to " + std::to_string(end) + " of " +
                                std::to_string(s.positions));
}

void CheckShape(int64_t channels, int64_t positions, Random* random) {
  const std::vector<float> x = testing::Floats(channels * positions, random);
  const int64_t sign_stride = random->Below(2), threshold_stride = random->Below(2);
  std::vector<float> sign(static_cast<size_t>(sign_stride ? channels : 1));
  for (float& s : sign) s = random->Chance(50) ? 1.0f : -1.0f;
  const std::vector<float> threshold = testing::Floats(threshold_stride ? channels : 1, random);
  const PackBitsShape s = {channels,    positions,        sign.data(),
                           sign_stride, threshold.data(), threshold_stride};
  const int64_t begin = random->Chance(50) ? 0 : random->Below(positions);
  const int64_t end = random->Chance(50) ? positions : random->Between(begin, positions);
#define BNN_KERNEL(needed, variant)                                                    \
  if (cpu::Has(needed, cpu::Supported())) {                                            \
    CompareWithScalar(s, x, begin, end, pack_bits_f32_##variant, pack_bits_f32_scalar, \
                      "pack_bits_f32_" #variant);                                      \
    CompareWithScalar(s, testing::Halves(x), begin, end, pack_bits_f16_##variant,      \
                      pack_bits_f16_scalar, "pack_bits_f16_" #variant);                \
  }
#include "kernels/pack_bits/kernels.inc"
#undef BNN_KERNEL
}

BNN_TEST("packing equals the scalar variant for every channel count from 1 to 130") {
  Random random(1);
  for (int64_t channels = 1; channels <= 130; ++channels) {
    for (const int64_t positions : {1, 2, 15, 16, 17, 33}) CheckShape(channels, positions, &random);
  }
}

BNN_TEST("packing equals the scalar variant for every map size from 1 to 100") {
  Random random(2);
  for (int64_t positions = 1; positions <= 100; ++positions) {
    for (const int64_t channels : {1, 32, 33, 70}) CheckShape(channels, positions, &random);
  }
}

}  // namespace
}  // namespace bnn
