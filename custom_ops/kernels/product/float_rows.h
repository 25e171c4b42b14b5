// Rows of float32 channels, for products of real-valued X with packed weights.
#ifndef BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_
#define BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_

#include "base/half.h"
#include "kernels/product/finish.h"

namespace bnn::product::float_rows {

inline bool Fits(const Shape& s) { return s.x != Element::kBits; }

inline int64_t RowBytes(const Shape& s) {
  return s.channels * static_cast<int64_t>(sizeof(float));
}

// A row of a float32 matrix is a row as it is; more than one pixel is not (channels lie apart).
inline bool Direct(const Shape& s) {
  (void)s;
  return false;
}

inline float* Row(const Shape& s, Rows rows, int64_t row) {
  return reinterpret_cast<float*>(rows.base) + row * s.channels;
}

inline void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  for (int64_t p = 0; p < pixels.count; ++p) {
    float* row = Row(s, rows, first + p);
    const int64_t pixel = p * pixels.pixel_step;
    for (int64_t c = 0; c < s.channels; ++c) {
      const int64_t at = pixel + c * pixels.channel_step;
      row[c] = s.x == Element::kFloat16 ? HalfToFloat(static_cast<const uint16_t*>(pixels.x)[at])
                                        : static_cast<const float*>(pixels.x)[at];
    }
  }
}

inline void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  float* row = Row(s, rows, first);
  for (int64_t i = 0; i < count * s.channels; ++i) row[i] = static_cast<float>(s.pad_value);
}

}  // namespace bnn::product::float_rows

#endif  // BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_
