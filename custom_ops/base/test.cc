// Half conversion, word masks and the ladder of instruction sets.
#include <cmath>

#include "base/bits.h"
#include "base/cpu.h"
#include "base/half.h"
#include "kernels/testing/testing.h"

namespace bnn {
namespace {

using testing::Check;

BNN_TEST("every half survives the way to float and back") {
  for (uint32_t half = 0; half < (1u << 16); ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    const uint16_t back = FloatToHalf(value);
    Check(back == half || (std::isnan(value) && std::isnan(HalfToFloat(back))),
          "half " + std::to_string(half));
  }
}

BNN_TEST("floats between two halves round to the nearer one, ties to the even one") {
  for (uint32_t half = 0; half < 0x7bffu; ++half) {  // up to the largest finite half
    const auto low = static_cast<uint16_t>(half), high = static_cast<uint16_t>(half + 1);
    const float middle = (HalfToFloat(low) + HalfToFloat(high)) / 2;  // exact: one more bit
    Check(FloatToHalf(middle) == (half % 2 == 0 ? low : high), "tie above " + std::to_string(half));
    Check(FloatToHalf(std::nextafter(middle, 0.0f)) == low, "below tie " + std::to_string(half));
    Check(FloatToHalf(-std::nextafter(middle, 1e9f)) == (0x8000u | high),
          "above tie, negative " + std::to_string(half));
  }
  Check(FloatToHalf(65519.0f) == 0x7bff, "the largest float that rounds to a finite half");
  Check(FloatToHalf(65520.0f) == 0x7c00, "the smallest float that rounds to infinity");
}

BNN_TEST("words and masks cover exactly the bits of a row") {
  for (int64_t length = 1; length <= 200; ++length) {
    int64_t bits = (bits::WordCount(length) - 1) * bits::kWordBits;
    bits += bits::PopCount(bits::LastWordMask(length));
    Check(bits == length, std::to_string(length) + " bits");
  }
  Check(bits::WordCount(0) == 0, "no bits need no word");
}

BNN_TEST("a cap removes the rungs above it and no others") {
  const uint32_t x86 = cpu::kScalar | cpu::kAvx2 | cpu::kAvx512Bw | cpu::kAvx512Vpopcnt | cpu::kAmx;
  const uint32_t arm = cpu::kScalar | cpu::kNeon | cpu::kNeonDot;
  Check(cpu::Capped(x86, nullptr) == x86, "no cap");
  Check(cpu::Capped(x86, "") == x86, "empty cap");
  Check(cpu::Capped(x86, "amx") == x86, "highest cap");
  Check(cpu::Capped(x86, "avx512bw") == (cpu::kScalar | cpu::kAvx2 | cpu::kAvx512Bw), "avx512bw");
  Check(cpu::Capped(x86, "scalar") == cpu::kScalar, "scalar");
  Check(cpu::Capped(cpu::kScalar | cpu::kAvx2, "amx") == (cpu::kScalar | cpu::kAvx2), "above all");
  Check(cpu::Capped(arm, "neon") == (cpu::kScalar | cpu::kNeon), "neon");
  Check(cpu::Capped(x86, "neondot") == cpu::kScalar, "cap of the other architecture");
  Check(cpu::Capped(arm, "amx") == cpu::kScalar, "cap of the other architecture");
  Check(cpu::Capped(x86, "AVX2") == 0 && cpu::Capped(x86, "sse") == 0, "unknown cap");
}

}  // namespace
}  // namespace bnn
