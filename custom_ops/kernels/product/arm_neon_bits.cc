// NEON: CNT counts bytes, UADALP adds pairs of counts to sixteen bits: with the EOR three
// instructions for 128 codes.
#include "kernels/product/arm_neon_lanes.h"

namespace bnn::product {
namespace {

struct Neon : NeonLanes {
  using Count = uint16x8_t;                    // sums of two bytes each
  static constexpr int64_t kMostWords = 4095;  // sixteen bits hold 65535, two bytes count to 16

  static Count Zero() { return vdupq_n_u16(0); }
  template <Codes codes>
  static Count One(Word x, const uint64_t* code) {
    return vpaddlq_u8(ByteCounts<codes>(x, code));
  }
  template <Codes codes>
  static void AddTwo(Count& count, Word x, const uint64_t* code, Word x2, const uint64_t* code2) {
    count = vpadalq_u8(count, ByteCounts<codes>(x, code));
    count = vpadalq_u8(count, ByteCounts<codes>(x2, code2));
  }
  static Word Total(Count count) { return vpaddlq_u32(vpaddlq_u16(count)); }
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
