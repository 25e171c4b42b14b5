#include "kernels/max_pool_bits/max_pool_bits.h"

namespace bnn {

void max_pool_bits_scalar(const MaxPoolBitsShape& s, const uint32_t* bits, const uint32_t* invert,
                          uint32_t* y, int64_t begin, int64_t end) {
  for (int64_t out_h = begin; out_h < end; ++out_h) {
    const MaxPoolSpan rows = MaxPoolWindow(out_h, s.stride_h, s.pad_top, s.kernel_h, s.height);
    for (int64_t out_w = 0; out_w < s.out_width; ++out_w) {
      const MaxPoolSpan columns = MaxPoolWindow(out_w, s.stride_w, s.pad_left, s.kernel_w, s.width);
      uint32_t* to = y + (out_h * s.out_width + out_w) * s.words;
      for (int64_t word = 0; word < s.words; ++word) {
        uint32_t any = 0;
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            any |= bits[(h * s.width + w) * s.words + word];
          }
        }
        to[word] = any ^ invert[word];
      }
    }
  }
}

}  // namespace bnn
