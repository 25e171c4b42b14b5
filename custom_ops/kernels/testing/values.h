// Values that comparisons must get right, in memory whose ends AddressSanitizer watches.
#ifndef BNN_KERNELS_TESTING_VALUES_H_
#define BNN_KERNELS_TESTING_VALUES_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "base/half.h"
#include "kernels/testing/testing.h"

namespace bnn::testing {

// Returns finite values, zeros of both signs, infinities and NaN.
inline std::vector<float> Floats(int64_t count, Random* random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> specials = {0.0f,
                                       -0.0f,
                                       0x1p-149f,
                                       -0x1p-149f,
                                       kInfinity,
                                       -kInfinity,
                                       std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = random->Chance(20) ? random->OneOf(specials) : random->Real();
  return values;
}

inline std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float v : values) halves.push_back(FloatToHalf(v));
  return halves;
}

inline std::vector<uint32_t> Words(int64_t count, Random* random) {
  std::vector<uint32_t> words(static_cast<size_t>(count));
  for (uint32_t& w : words) w = static_cast<uint32_t>(random->Bits());
  return words;
}

}  // namespace bnn::testing

#endif  // BNN_KERNELS_TESTING_VALUES_H_
