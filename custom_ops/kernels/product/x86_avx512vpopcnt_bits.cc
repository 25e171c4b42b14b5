// VPOPCNTDQ: 64 channels of 8 outputs a popcount.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

// A full adder of two words takes three ternary logic instructions, the exclusive or with the codes
// included, and then one popcount serves both: 2.5 instead of 3 instructions a word (binary codes).
struct Avx512Vpopcnt {
  using Format = words::Plain;
  using Vector = V16;
  using Word = __m512i;
  struct Count {
    Word ones;  // bits that are not counted yet
    Word twos;  // counts of pairs
  };
  static constexpr int kLanes = 8;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 2;
  static constexpr int64_t kMostWords = int64_t{1} << 40;

  static Count Zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  static Word Broadcast(const uint8_t* x) {
    long long lane;
    std::memcpy(&lane, x, sizeof lane);
    return _mm512_set1_epi64(lane);
  }
  static Word LoadWord(const uint64_t* p) { return _mm512_loadu_si512(p); }
  static void StoreWord(uint64_t* p, Word word) { _mm512_storeu_si512(p, word); }

  // sum ^ the bits that x and code add; kTernaryEqual: these bits alone.
  template <Codes codes>
  static Word Flip(Word sum, Word x, const uint64_t* code) {
    constexpr int kXor = 0x96;     // a ^ b ^ c
    constexpr int kAndNot = 0xd2;  // a ^ (~b & c)
    constexpr int kXorAnd = 0x28;  // (a ^ b) & c
    if (codes == Codes::kTernaryEqual) {
      return _mm512_ternarylogic_epi64(x, LoadWord(code), LoadWord(code + kStrip), kXorAnd);
    }
    return _mm512_ternarylogic_epi64(sum, x, LoadWord(code),
                                     codes == Codes::kBinary ? kXor : kAndNot);
  }
  // What is carried when a sum becomes `half` by the first word and `sum` by the second one: the
  // second bit where half is set, which is ~sum there, else the old sum.
  template <Codes codes>
  static void AddTwo(Count& count, Word x, const uint64_t* code, Word x2, const uint64_t* code2) {
    constexpr int kCarry = 0x3a;                  // a ? ~b : c
    constexpr int kXor = 0x96, kMajority = 0xe8;  // where both bits are at hand
    Word sum, carry;
    if (codes == Codes::kTernaryEqual) {
      const Word bits = Flip<codes>(count.ones, x, code), bits2 = Flip<codes>(bits, x2, code2);
      sum = _mm512_ternarylogic_epi64(count.ones, bits, bits2, kXor);
      carry = _mm512_ternarylogic_epi64(count.ones, bits, bits2, kMajority);
    } else {
      const Word half = Flip<codes>(count.ones, x, code);
      sum = Flip<codes>(half, x2, code2);
      carry = _mm512_ternarylogic_epi64(half, sum, count.ones, kCarry);
    }
    count.ones = sum;
    count.twos = _mm512_add_epi64(count.twos, _mm512_popcnt_epi64(carry));
  }
  template <Codes codes>
  static Count One(Word x, const uint64_t* code) {
    return {Flip<codes>(_mm512_setzero_si512(), x, code), _mm512_setzero_si512()};
  }
  static Word Total(const Count& count) {
    return _mm512_add_epi64(_mm512_add_epi64(count.twos, count.twos),
                            _mm512_popcnt_epi64(count.ones));
  }
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
    {1, 430.0, 0.72, 1.09, 0.0, 11.0},
    MultiplyLanes<Avx512Vpopcnt>,
};

}  // namespace bnn::product
