// VPOPCNTDQ: 64 channels of 8 outputs a popcount.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

struct Avx512Vpopcnt {
  using Format = words::Plain;
  using Vector = V16;
  using Word = __m512i;
  static constexpr int kLanes = 8;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 4;
  static constexpr int64_t kMostCounts = int64_t{1} << 40;

  static Word Zero() { return _mm512_setzero_si512(); }
  static Word Broadcast(const uint8_t* x) {
    long long lane;
    std::memcpy(&lane, x, sizeof lane);
    return _mm512_set1_epi64(lane);
  }
  static Word Load(const uint64_t* p) { return _mm512_loadu_si512(p); }
  static Word Xor(Word x, const uint64_t* code) { return _mm512_xor_si512(x, Load(code)); }
  static Word AndNot(Word x, const uint64_t* code) { return _mm512_andnot_si512(x, Load(code)); }
  static Word XorAnd(Word x, const uint64_t* code, const uint64_t* mask) {
    constexpr int kXorAnd = 0x28;  // (a ^ b) & c
    return _mm512_ternarylogic_epi64(x, Load(code), Load(mask), kXorAnd);
  }
  static Word Count(Word sum, Word bits) {
    return _mm512_add_epi64(sum, _mm512_popcnt_epi64(bits));
  }
  static void Drain(Word sum, int32_t* counts) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(counts), _mm512_cvtepi64_epi32(sum));
  }
};

}  // namespace

const Variant bits_avx512vpopcnt = {
    "bits_avx512vpopcnt",
    words::Fits,
    words::RowBytes<words::Plain>,
    words::PlainDirect,
    words::Expand<words::Plain>,
    words::Fill<words::Plain>,
    words::PackedBytes<words::Plain>,
    words::Pack<words::Plain>,
    words::NoScratch,
    16,
    {1, 400.0, 0.8, 1.25, 0.0, 12.0},
    MultiplyLanes<Avx512Vpopcnt>,
};

}  // namespace bnn::product
