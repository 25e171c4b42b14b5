// AVX-512 without VPOPCNTDQ: 32 channels of 8 outputs, counted nibble by nibble with a shuffle.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

struct Avx512Bw {
  using Format = words::Nibbles;
  using Vector = V16;
  using Word = __m512i;
  using Count = __m512i;  // a byte each: sums of nibbles
  static constexpr int kLanes = 8;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 4;
  static constexpr int64_t kMostWords = 63;  // a byte holds 255, a nibble counts to 4

  static Count Zero() { return _mm512_setzero_si512(); }
  static Word Broadcast(const uint8_t* x) {
    long long lane;
    std::memcpy(&lane, x, sizeof lane);
    return _mm512_set1_epi64(lane);
  }
  static Word LoadWord(const uint64_t* p) { return _mm512_loadu_si512(p); }
  static void StoreWord(uint64_t* p, Word word) { _mm512_storeu_si512(p, word); }
  template <Codes codes>
  static Word Differing(Word x, const uint64_t* code) {
    constexpr int kXorAnd = 0x28;  // (a ^ b) & c
    if (codes == Codes::kBinary) return _mm512_xor_si512(x, LoadWord(code));
    if (codes == Codes::kTernary) return _mm512_andnot_si512(x, LoadWord(code));
    return _mm512_ternarylogic_epi64(x, LoadWord(code), LoadWord(code + kStrip), kXorAnd);
  }
  template <Codes codes>
  static Count One(Word x, const uint64_t* code) {
    const Word counts =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return _mm512_shuffle_epi8(counts, Differing<codes>(x, code));
  }
  template <Codes codes>
  static void AddTwo(Count& count, Word x, const uint64_t* code, Word x2, const uint64_t* code2) {
    count = _mm512_add_epi8(count, One<codes>(x, code));
    count = _mm512_add_epi8(count, One<codes>(x2, code2));
  }
  static Word Total(Count count) { return _mm512_sad_epu8(count, _mm512_setzero_si512()); }
  static Word Plus(Word a, Word b) { return _mm512_add_epi64(a, b); }
  static uint32_t AtMost(Word word, const int64_t* most) {
    return _mm512_cmple_epi64_mask(word, _mm512_loadu_si512(most));
  }
  static void StoreSums(Word word, const int32_t* totals, int32_t* sums) {
    const __m256i total = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(totals));
    const __m256i twice = _mm512_cvtepi64_epi32(_mm512_add_epi64(word, word));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), _mm256_sub_epi32(total, twice));
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
