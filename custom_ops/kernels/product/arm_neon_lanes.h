// What counting bits takes, whatever sums up the counts: two output channels a vector.
#ifndef BNN_KERNELS_PRODUCT_ARM_NEON_LANES_H_
#define BNN_KERNELS_PRODUCT_ARM_NEON_LANES_H_

#include "kernels/product/arm_neon_vector.h"
#include "kernels/product/lanes_multiply.h"

namespace bnn::product {
namespace {

// Not measured: what the instructions take at two vector instructions a cycle and 2.5 GHz. Of two
// variants that cost the same the first of kernels.inc is chosen.
constexpr Cost kNeonLanesCost = {1, 340.0, 0.0, 4.8, 0.0, 15.0};

struct NeonLanes {
  using Format = words::Plain;
  using Vector = V4;
  using Word = uint16x8_t;  // what UADALP sums up: GCC copies accumulators of another type
  static constexpr int kLanes = 2;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 4;

  static Word Zero() { return vdupq_n_u16(0); }
  static Word Broadcast(const uint8_t* x) {
    uint64_t lane;
    std::memcpy(&lane, x, sizeof lane);
    return vreinterpretq_u16_u64(vdupq_n_u64(lane));
  }
  static Word Load(const uint64_t* p) { return vreinterpretq_u16_u64(vld1q_u64(p)); }
  static Word Xor(Word x, const uint64_t* code) { return veorq_u16(x, Load(code)); }
  static Word AndNot(Word x, const uint64_t* code) { return vbicq_u16(Load(code), x); }
  static Word XorAnd(Word x, const uint64_t* code, const uint64_t* mask) {
    return vandq_u16(Xor(x, code), Load(mask));
  }
  static uint8x16_t ByteCounts(Word bits) { return vcntq_u8(vreinterpretq_u8_u16(bits)); }
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_ARM_NEON_LANES_H_
