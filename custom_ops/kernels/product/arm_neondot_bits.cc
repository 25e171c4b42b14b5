// NEON with dot products: UDOT with ones sums four counts into 32 bits. As many instructions as
// with UADALP, but more cores can start two of them a cycle and the sums never overflow. Products
// of expanded bytes (SDOT) would take eight instructions for the same 128 codes.
#include "kernels/product/arm_neon_lanes.h"

namespace bnn::product {
namespace {

struct NeonDot : NeonLanes {
  static constexpr int64_t kMostCounts = int64_t{1} << 26;  // 32 bits, and a step adds up to 32

  static Word Count(Word sum, Word bits) {
    return vreinterpretq_u16_u32(
        vdotq_u32(vreinterpretq_u32_u16(sum), ByteCounts(bits), vdupq_n_u8(1)));
  }
  static void Drain(Word sum, int32_t* counts) {
    const uint32x4_t halves = vreinterpretq_u32_u16(sum);
    vst1_s32(counts, vreinterpret_s32_u32(vpadd_u32(vget_low_u32(halves), vget_high_u32(halves))));
  }
};

}  // namespace

const Variant bits_neondot = {
    "bits_neondot",
    words::Fits,
    words::RowBytes<words::Plain>,
    words::PlainDirect,
    words::Expand<words::Plain>,
    words::Fill<words::Plain>,
    words::PackedBytes<words::Plain>,
    words::Pack<words::Plain>,
    words::NoScratch,
    16,
    kNeonLanesCost,
    MultiplyLanes<NeonDot>,
};

}  // namespace bnn::product
