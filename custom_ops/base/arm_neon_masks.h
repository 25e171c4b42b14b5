// Comparison masks as bits of a word, which NEON has no instruction for. Internal linkage for the
// reason given in bits.h.
#ifndef BNN_BASE_ARM_NEON_MASKS_H_
#define BNN_BASE_ARM_NEON_MASKS_H_

#include <arm_neon.h>

#include <cstdint>

namespace bnn::neon {

// Returns the word whose bit 4*v + i is lane i of masks[v]; a lane is all ones or all zeros.
// Lanes are narrowed to bytes, which keep one bit each, and pairwise sums join eight to a byte.
static inline uint32_t Word(const uint32x4_t* masks) {
  uint16x8_t halves[4];
  for (int i = 0; i < 4; ++i) {
    halves[i] =
        vuzp1q_u16(vreinterpretq_u16_u32(masks[2 * i]), vreinterpretq_u16_u32(masks[2 * i + 1]));
  }
  const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
  uint8x16_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    bytes[i] = vandq_u8(bit, vuzp1q_u8(vreinterpretq_u8_u16(halves[2 * i]),
                                       vreinterpretq_u8_u16(halves[2 * i + 1])));
  }
  uint8x16_t sums = vpaddq_u8(bytes[0], bytes[1]);
  sums = vpaddq_u8(sums, sums);
  sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u32(vreinterpretq_u32_u8(sums), 0);
}

}  // namespace bnn::neon

#endif  // BNN_BASE_ARM_NEON_MASKS_H_
