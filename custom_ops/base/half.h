// IEEE 754 binary16, held in a uint16_t, for code without hardware conversion. Internal linkage for
// the reason given in bits.h.
#ifndef BNN_BASE_HALF_H_
#define BNN_BASE_HALF_H_

#include <cstdint>
#include <cstring>

namespace bnn {

// Returns the value of a half; every half is a float, so this is exact.
static inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  uint32_t bits;
  if (magnitude >= 0x7c00u) {  // infinity and NaN: the exponent is all ones in both formats
    bits = 0x7f800000u | ((magnitude & 0x3ffu) << 13);
  } else if (magnitude >= 0x0400u) {  // normal: exponent bias 15 becomes 127
    bits = (magnitude << 13) + (112u << 23);
  } else {  // subnormal: magnitude * 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    std::memcpy(&bits, &value, sizeof bits);
  }
  bits |= sign;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Returns the half nearest to `value`, ties to even, as the F16C instructions round by default.
static inline uint16_t FloatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {  // NaN, made quiet
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 is the first float that rounds to infinity
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // normal: drop 13 bits, ties to even
    half = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  } else {  // subnormal: adding 0.5 aligns bit 0 with 2^-24 and rounds in hardware
    float aligned;
    std::memcpy(&aligned, &magnitude, sizeof aligned);
    aligned += 0.5f;
    std::memcpy(&half, &aligned, sizeof half);
    half -= 0x3f000000u;
  }
  return static_cast<uint16_t>(sign | half);
}

}  // namespace bnn

#endif  // BNN_BASE_HALF_H_
