// NEON with dot products: UDOT with ones sums four counts into 32 bits. As many instructions as
// with UADALP, but more cores can start two of them a cycle and the sums never overflow. Products
// of expanded bytes (SDOT) would take eight instructions for the same 128 codes.
#include "kernels/product/arm_neon_lanes.h"

namespace bnn::product {
namespace {

struct NeonDot : NeonLanes {
  using Count = uint32x4_t;                                // sums of four bytes each
  static constexpr int64_t kMostWords = int64_t{1} << 26;  // 32 bits, and a word adds up to 32

  static Count Zero() { return vdupq_n_u32(0); }
  template <Codes codes>
  static Count One(Word x, const uint64_t* code) {
    return vdotq_u32(Zero(), ByteCounts<codes>(x, code), vdupq_n_u8(1));
  }
  template <Codes codes>
  static void AddTwo(Count& count, Word x, const uint64_t* code, Word x2, const uint64_t* code2) {
    count = vdotq_u32(count, ByteCounts<codes>(x, code), vdupq_n_u8(1));
    count = vdotq_u32(count, ByteCounts<codes>(x2, code2), vdupq_n_u8(1));
  }
  static Word Total(Count count) { return vpaddlq_u32(count); }
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
