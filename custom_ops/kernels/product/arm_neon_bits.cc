// NEON: CNT counts bytes, UADALP adds pairs of counts to sixteen bits: with the EOR three
// instructions for 128 codes.
#include "kernels/product/arm_neon_lanes.h"

namespace bnn::product {
namespace {

struct Neon : NeonLanes {
  static constexpr int64_t kMostCounts = 4095;  // sixteen bits hold 65535, a pair counts to 16

  static Word Count(Word sum, Word bits) { return vpadalq_u8(sum, ByteCounts(bits)); }
  static void Drain(Word sum, int32_t* counts) {
    const uint32x4_t pairs = vpaddlq_u16(sum);
    vst1_s32(counts, vreinterpret_s32_u32(vpadd_u32(vget_low_u32(pairs), vget_high_u32(pairs))));
  }
};

}  // namespace

const Variant bits_neon = {
    "bits_neon",
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
    MultiplyLanes<Neon>,
};

}  // namespace bnn::product
