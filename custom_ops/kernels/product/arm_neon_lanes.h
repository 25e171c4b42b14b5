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
  using Word = uint64x2_t;
  static constexpr int kLanes = 2;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 4;

  static Word Broadcast(const uint8_t* x) {
    uint64_t lane;
    std::memcpy(&lane, x, sizeof lane);
    return vdupq_n_u64(lane);
  }
  static Word LoadWord(const uint64_t* p) { return vld1q_u64(p); }
  static void StoreWord(uint64_t* p, Word word) { vst1q_u64(p, word); }
  static Word Plus(Word a, Word b) { return vaddq_u64(a, b); }
  static uint32_t AtMost(Word word, const int64_t* most) {
    const uint64x2_t within = vcleq_s64(vreinterpretq_s64_u64(word), vld1q_s64(most));
    return static_cast<uint32_t>((vgetq_lane_u64(within, 0) & 1u) |
                                 (vgetq_lane_u64(within, 1) & 2u));
  }
  static void StoreSums(Word word, const int32_t* totals, int32_t* sums) {
    const int32x2_t counts = vreinterpret_s32_u32(vmovn_u64(vaddq_u64(word, word)));
    vst1_s32(sums, vsub_s32(vld1_s32(totals), counts));
  }

  // How many bits of each byte count.
  template <Codes codes>
  static uint8x16_t ByteCounts(Word x, const uint64_t* code) {
    Word differing =
        codes == Codes::kTernary ? vbicq_u64(LoadWord(code), x) : veorq_u64(x, LoadWord(code));
    if (codes == Codes::kTernaryEqual) differing = vandq_u64(differing, LoadWord(code + kStrip));
    return vcntq_u8(vreinterpretq_u8_u64(differing));
  }
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_ARM_NEON_LANES_H_
