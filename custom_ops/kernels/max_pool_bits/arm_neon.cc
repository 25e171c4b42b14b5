// Four words (128 channels) a step. The last step of a pixel goes back over words that are done
// already; pixels of less than a step take steps of two words or one.
#include <arm_neon.h>

#include "kernels/max_pool_bits/max_pool_bits.h"

namespace bnn {
namespace {

struct Four {
  static constexpr int64_t kWords = 4;
  using Vector = uint32x4_t;
  static Vector Zero() { return vdupq_n_u32(0); }
  static Vector Load(const uint32_t* p) { return vld1q_u32(p); }
  static Vector Or(Vector a, Vector b) { return vorrq_u32(a, b); }
  static void StoreXor(uint32_t* p, Vector a, Vector b) { vst1q_u32(p, veorq_u32(a, b)); }
};

struct Two {
  static constexpr int64_t kWords = 2;
  using Vector = uint32x2_t;
  static Vector Zero() { return vdup_n_u32(0); }
  static Vector Load(const uint32_t* p) { return vld1_u32(p); }
  static Vector Or(Vector a, Vector b) { return vorr_u32(a, b); }
  static void StoreXor(uint32_t* p, Vector a, Vector b) { vst1_u32(p, veor_u32(a, b)); }
};

// At least V::kWords words a pixel.
template <typename V>
void Pool(const MaxPoolBitsShape& s, const uint32_t* bits, const uint32_t* invert, uint32_t* y,
          int64_t begin, int64_t end) {
  for (int64_t out_h = begin; out_h < end; ++out_h) {
    const MaxPoolSpan rows = MaxPoolWindow(out_h, s.stride_h, s.pad_top, s.kernel_h, s.height);
    for (int64_t out_w = 0; out_w < s.out_width; ++out_w) {
      const MaxPoolSpan columns = MaxPoolWindow(out_w, s.stride_w, s.pad_left, s.kernel_w, s.width);
      uint32_t* to = y + (out_h * s.out_width + out_w) * s.words;
      for (int64_t next = 0; next < s.words; next += V::kWords) {
        const int64_t last = s.words - V::kWords, word = next < last ? next : last;
        typename V::Vector any = V::Zero();
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          const uint32_t* row = bits + h * s.width * s.words + word;
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            any = V::Or(any, V::Load(row + w * s.words));
          }
        }
        V::StoreXor(to + word, any, V::Load(invert + word));
      }
    }
  }
}

}  // namespace

void max_pool_bits_neon(const MaxPoolBitsShape& s, const uint32_t* bits, const uint32_t* invert,
                        uint32_t* y, int64_t begin, int64_t end) {
  if (s.words >= Four::kWords) {
    Pool<Four>(s, bits, invert, y, begin, end);
  } else if (s.words >= Two::kWords) {
    Pool<Two>(s, bits, invert, y, begin, end);
  } else {
    max_pool_bits_scalar(s, bits, invert, y, begin, end);
  }
}

}  // namespace bnn
