// Rows and packed weights of the variants that count bits: 64-bit lanes, one output channel a lane.
//
// Per sum a variant counts raw = popcount((x ^ code) & mask) over all taps, where mask marks the
// codes that are not zero; then the sum of x*code is total - 2*raw. Rows outside the image hold -1;
// where pad_value is 0 the sums of their taps are added back, which leaves 0.
//
//   Codes          sums   code, mask
//   kBinary        1      W, every channel
//   kTernaryEqual  1      plane 0, plane 0 | plane 1
//   kTernary       2      plane j, plane j
//
// Packed strip: int32 totals[sums][kStrip]; int32 tap_sums[taps][sums][kStrip]; then, per tap and
// lane word, uint64 code[sums][kStrip] (kTernaryEqual: code[kStrip], mask[kStrip]). kBinary and
// kTernary need no mask: pad bits are 0 in rows and codes, and (x ^ p) & p = ~x & p.
#ifndef BNN_KERNELS_PRODUCT_WORDS_H_
#define BNN_KERNELS_PRODUCT_WORDS_H_

#include <cstring>

#include "kernels/product/finish.h"

namespace bnn::product::words {

// How a format turns the words of one pixel and group into 64-bit lane words; `get(i)` is word i
// with its pad bits cleared, 0 past the last one.
//
// Plain: two words, the first in the low half.
struct Plain {
  static int64_t Count(int64_t length) { return (length + 63) / 64; }
  template <typename Get>
  static uint64_t Make(const Get& get, int64_t index) {
    return get(2 * index) | static_cast<uint64_t>(get(2 * index + 1)) << 32;
  }
};

// Nibbles: one word, its low nibbles in the low four bytes and its high nibbles in the others, so
// that a byte shuffle looks up counts without masking first.
struct Nibbles {
  static int64_t Count(int64_t length) { return bits::WordCount(length); }
  template <typename Get>
  static uint64_t Make(const Get& get, int64_t index) {
    const uint32_t word = get(index);
    return (word & 0x0f0f0f0fu) | static_cast<uint64_t>((word >> 4) & 0x0f0f0f0fu) << 32;
  }
};

// Members of Variant for either format (words.cc).
bool Fits(const Shape& s);
bool PlainDirect(const Shape& s);  // whole lane words without pad bits: X itself is rows
bool NeverDirect(const Shape& s);
template <typename Format>
int64_t RowBytes(const Shape& s);
template <typename Format>
void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels);
template <typename Format>
void Fill(const Shape& s, Rows rows, int64_t first, int64_t count);
template <typename Format>
size_t PackedBytes(const Shape& s);
template <typename Format>
void Pack(const Shape& s, const uint32_t* words, uint8_t* packed);
size_t NoScratch(const Shape& s);

// The positions whose taps all lie inside the image, or every position where no sum must be added
// back because pad_value is a code.
struct Interior {
  int64_t line_begin, line_end, column_begin, column_end;

  bool Holds(int64_t line, int64_t column) const {
    return line >= line_begin && line < line_end && column >= column_begin && column < column_end;
  }
};
Interior FindInterior(const Shape& s, const Plan& plan);

static inline int64_t Sums(const Shape& s) { return s.codes == Codes::kTernary ? 2 : 1; }

// Lane words of one pixel and group.
template <typename Format>
static inline int64_t GroupLanes(const Shape& s) {
  return Format::Count(GroupChannels(s));
}

static inline size_t HeaderBytes(const Shape& s) {
  return static_cast<size_t>((1 + Taps(s)) * Sums(s) * kStrip) * sizeof(int32_t);
}

template <typename Format>
static inline size_t StripBytes(const Shape& s) {
  return HeaderBytes(s) +
         static_cast<size_t>(Taps(s) * GroupLanes<Format>(s) * Planes(s) * kStrip) * 8;
}

}  // namespace bnn::product::words

#endif  // BNN_KERNELS_PRODUCT_WORDS_H_
