// Every variant against the scalar one, for word counts on both sides of every step.
#include "base/cpu.h"
#include "kernels/max_pool_bits/max_pool_bits.h"
#include "kernels/testing/values.h"

namespace bnn {
namespace {

using testing::Check;
using testing::Random;

constexpr uint32_t kUntouched = 0xa5a5a5a5u;

// Returns words with a quarter of the bits set, so that the OR of a window is not all ones.
std::vector<uint32_t> Sparse(int64_t count, Random* random) {
  std::vector<uint32_t> words = testing::Words(count, random);
  for (uint32_t& w : words) w &= static_cast<uint32_t>(random->Bits());
  return words;
}

void CheckShape(int64_t words, Random* random) {
  MaxPoolBitsShape s;
  s.height = random->Between(1, 9);
  s.width = random->Between(1, 9);
  s.words = words;
  s.kernel_h = random->Between(1, 4);
  s.kernel_w = random->Between(1, 4);
  s.stride_h = random->Between(1, 3);
  s.stride_w = random->Between(1, 3);
  s.pad_top = random->Between(0, 4);
  s.pad_left = random->Between(0, 4);
  const int64_t rows = random->Between(1, (s.height + s.pad_top + 2) / s.stride_h + 1);
  s.out_width = random->Between(1, (s.width + s.pad_left + 2) / s.stride_w + 1);
  const std::vector<uint32_t> bits = Sparse(s.height * s.width * words, random);
  const std::vector<uint32_t> invert = Sparse(words, random);
  const int64_t begin = random->Below(rows), end = random->Between(begin, rows);
  const auto run = [&](auto kernel) {
    std::vector<uint32_t> y(static_cast<size_t>(rows * s.out_width * words), kUntouched);
    kernel(s, bits.data(), invert.data(), y.data(), begin, end);
    return y;
  };
  const std::vector<uint32_t> expected = run(max_pool_bits_scalar);
#define BNN_KERNEL(needed, variant)                                             \
  if (cpu::Has(needed, cpu::Supported())) {                                     \
    Check(run(max_pool_bits_##variant) == expected,                             \
          "max_pool_bits_" #variant " of " + std::to_string(words) + " words"); \
  }
#include "kernels/max_pool_bits/kernels.inc"
#undef BNN_KERNEL
}

BNN_TEST("pooling equals the scalar variant for random windows and 1 to 40 words") {
  Random random(1);
  for (int64_t words = 1; words <= 40; ++words) {
    for (int repeat = 0; repeat < 20; ++repeat) CheckShape(words, &random);
  }
}

}  // namespace
}  // namespace bnn
