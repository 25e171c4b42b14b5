// AVX2: 32 channels of 4 outputs, counted nibble by nibble with a shuffle.
#include "kernels/product/lanes_multiply.h"
#include "kernels/product/x86_avx2_vector.h"

namespace bnn::product {
namespace {

struct Avx2 {
  using Format = words::Nibbles;
  using Vector = V8;
  using Word = __m256i;
  static constexpr int kLanes = 4;
  static constexpr int kWords = 4;
  static constexpr int kPositions = 2;
  static constexpr int64_t kMostCounts = 63;  // a byte holds 255, a nibble counts to 4

  static Word Zero() { return _mm256_setzero_si256(); }
  static Word Broadcast(const uint8_t* x) {
    long long lane;
    std::memcpy(&lane, x, sizeof lane);
    return _mm256_set1_epi64x(lane);
  }
  static Word Load(const uint64_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Word Xor(Word x, const uint64_t* code) { return _mm256_xor_si256(x, Load(code)); }
  static Word AndNot(Word x, const uint64_t* code) { return _mm256_andnot_si256(x, Load(code)); }
  static Word XorAnd(Word x, const uint64_t* code, const uint64_t* mask) {
    return _mm256_and_si256(Xor(x, code), Load(mask));
  }
  static Word Count(Word sum, Word nibbles) {
    const __m256i counts =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    return _mm256_add_epi8(sum, _mm256_shuffle_epi8(counts, nibbles));
  }
  static void Drain(Word sum, int32_t* counts) {
    const __m256i lanes = _mm256_sad_epu8(sum, _mm256_setzero_si256());
    const __m256i packed =
        _mm256_permutevar8x32_epi32(lanes, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(counts), _mm256_castsi256_si128(packed));
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
