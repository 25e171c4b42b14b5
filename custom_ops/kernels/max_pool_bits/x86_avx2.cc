// Eight words (256 channels) a step; the last step of a pixel is a masked load and store.
#include <immintrin.h>

#include "kernels/max_pool_bits/max_pool_bits.h"

namespace bnn {
namespace {

constexpr int64_t kLanes = 8;

// Returns all ones in the first `count` lanes.
__m256i Lanes(int64_t count) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int limit = static_cast<int>(count < kLanes ? count : kLanes);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), index);
}

__m256i Load(const uint32_t* words, __m256i lanes) {
  return _mm256_maskload_epi32(reinterpret_cast<const int*>(words), lanes);
}

}  // namespace

void max_pool_bits_avx2(const MaxPoolBitsShape& s, const uint32_t* bits, const uint32_t* invert,
                        uint32_t* y, int64_t begin, int64_t end) {
  for (int64_t out_h = begin; out_h < end; ++out_h) {
    const MaxPoolSpan rows = MaxPoolWindow(out_h, s.stride_h, s.pad_top, s.kernel_h, s.height);
    for (int64_t out_w = 0; out_w < s.out_width; ++out_w) {
      const MaxPoolSpan columns = MaxPoolWindow(out_w, s.stride_w, s.pad_left, s.kernel_w, s.width);
      uint32_t* to = y + (out_h * s.out_width + out_w) * s.words;
      for (int64_t word = 0; word < s.words; word += kLanes) {
        const __m256i lanes = Lanes(s.words - word);
        __m256i any = _mm256_setzero_si256();
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            const uint32_t* pixel = bits + (h * s.width + w) * s.words;
            any = _mm256_or_si256(any, Load(pixel + word, lanes));
          }
        }
        _mm256_maskstore_epi32(reinterpret_cast<int*>(to + word), lanes,
                               _mm256_xor_si256(any, Load(invert + word, lanes)));
      }
    }
  }
}

}  // namespace bnn
