// AVX-512 without VPOPCNTDQ: 32 channels of 8 outputs, counted nibble by nibble with a shuffle.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

struct Avx512Bw {
  using Format = words::Nibbles;
  using Vector = V16;
  using Word = __m512i;
  static constexpr int kLanes = 8;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 4;
  static constexpr int64_t kMostCounts = 63;  // a byte holds 255, a nibble counts to 4

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
  static Word Count(Word sum, Word nibbles) {
    const __m512i counts =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return _mm512_add_epi8(sum, _mm512_shuffle_epi8(counts, nibbles));
  }
  static void Drain(Word sum, int32_t* counts) {
    const __m512i lanes = _mm512_sad_epu8(sum, _mm512_setzero_si512());
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(counts), _mm512_cvtepi64_epi32(lanes));
  }
};

}  // namespace

const Variant bits_avx512bw = {
    "bits_avx512bw",
    words::Fits,
    words::RowBytes<words::Nibbles>,
    words::NeverDirect,
    words::Expand<words::Nibbles>,
    words::Fill<words::Nibbles>,
    words::PackedBytes<words::Nibbles>,
    words::Pack<words::Nibbles>,
    words::NoScratch,
    16,
    {1, 470.0, 1.1, 3.2, 1.9, 11.5},
    MultiplyLanes<Avx512Bw>,
};

}  // namespace bnn::product
