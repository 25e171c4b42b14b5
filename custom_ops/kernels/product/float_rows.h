// Rows of float32 channels, and weights as bits by depth, for products of real-valued X.
//
// Packed strip: uint32 [taps * group channels][planes]; bit i is the code of output channel i.
#ifndef BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_
#define BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_

#include "kernels/product/finish.h"

namespace bnn::product::float_rows {

// Members of Variant (float_rows.cc).
bool Fits(const Shape& s);
int64_t RowBytes(const Shape& s);
bool Direct(const Shape& s);  // rows of a float32 matrix are rows as they are
void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels);
void Fill(const Shape& s, Rows rows, int64_t first, int64_t count);
size_t PackedBytes(const Shape& s);
void Pack(const Shape& s, const uint32_t* words, uint8_t* packed);
size_t NoScratch(const Shape& s);

// Channels of a row, its group's first.
static inline const float* Row(const Block& b, int64_t row, int64_t group) {
  const Shape& s = *b.shape;
  return reinterpret_cast<const float*>(b.rows.base) + row * s.channels + group * GroupChannels(s);
}

static inline int64_t StripWords(const Shape& s) { return Taps(s) * GroupChannels(s) * Planes(s); }

static inline const uint32_t* StripCodes(const Block& b, int64_t index) {
  return reinterpret_cast<const uint32_t*>(b.packed) + index * StripWords(*b.shape);
}

}  // namespace bnn::product::float_rows

#endif  // BNN_KERNELS_PRODUCT_FLOAT_ROWS_H_
