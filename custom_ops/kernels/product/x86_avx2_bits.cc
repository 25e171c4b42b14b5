// AVX2: 32 channels of 4 outputs, counted nibble by nibble with a shuffle.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx2_vector.h"

namespace bnn::product {
namespace {

struct Avx2 {
  using Format = words::Nibbles;
  using Vector = V8;
  using Word = __m256i;
  using Count = __m256i;  // a byte each: sums of nibbles
  static constexpr int kLanes = 4;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 2;
  static constexpr int64_t kMostWords = 63;  // a byte holds 255, a nibble counts to 4

  static Count Zero() { return _mm256_setzero_si256(); }
  static Word Broadcast(const uint8_t* x) {
    long long lane;
    std::memcpy(&lane, x, sizeof lane);
    return _mm256_set1_epi64x(lane);
  }
  static Word LoadWord(const uint64_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void StoreWord(uint64_t* p, Word word) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), word);
  }
  template <Codes codes>
  static Word Differing(Word x, const uint64_t* code) {
    if (codes == Codes::kTernary) return _mm256_andnot_si256(x, LoadWord(code));
    const Word differing = _mm256_xor_si256(x, LoadWord(code));
    return codes == Codes::kBinary ? differing
                                   : _mm256_and_si256(differing, LoadWord(code + kStrip));
  }
  template <Codes codes>
  static Count One(Word x, const uint64_t* code) {
    const Word counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return _mm256_shuffle_epi8(counts, Differing<codes>(x, code));
  }
  template <Codes codes>
  static void AddTwo(Count& count, Word x, const uint64_t* code, Word x2, const uint64_t* code2) {
    count = _mm256_add_epi8(count, One<codes>(x, code));
    count = _mm256_add_epi8(count, One<codes>(x2, code2));
  }
  static Word Total(Count count) { return _mm256_sad_epu8(count, _mm256_setzero_si256()); }
  static Word Plus(Word a, Word b) { return _mm256_add_epi64(a, b); }
  static uint32_t AtMost(Word word, const int64_t* most) {
    const __m256i more =
        _mm256_cmpgt_epi64(word, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(most)));
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(more))) ^ 0xfu;
  }
  static void StoreSums(Word word, const int32_t* totals, int32_t* sums) {
    const __m256i packed = _mm256_permutevar8x32_epi32(_mm256_add_epi64(word, word),
                                                       _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    const __m128i total = _mm_loadu_si128(reinterpret_cast<const __m128i*>(totals));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums),
                     _mm_sub_epi32(total, _mm256_castsi256_si128(packed)));
  }
};

}  // namespace

const Variant bits_avx2 = {
    "bits_avx2",
    words::Fits,
    words::RowBytes<words::Nibbles>,
    words::NeverDirect,
    words::Expand<words::Nibbles>,
    words::Fill<words::Nibbles>,
    words::PackedBytes<words::Nibbles>,
    words::Pack<words::Nibbles>,
    words::NoScratch,
    16,
    {1, 520.0, 0.6, 4.3, 1.3, 15.0},
    MultiplyLanes<Avx2>,
};

}  // namespace bnn::product
