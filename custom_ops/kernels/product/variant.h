// What a variant of the product kernels provides; kernels.inc lists the variants.
//
// A variant sees two things: rows, the gathered pixels of an item in a format of its own, and
// strips, at most kStrip output channels of one group, whose weights it packed. Product does the
// rest: geometry, borders, threads.
#ifndef BNN_KERNELS_PRODUCT_VARIANT_H_
#define BNN_KERNELS_PRODUCT_VARIANT_H_

#include "base/bits.h"
#include "kernels/product/cost.h"
#include "kernels/product/product.h"

namespace bnn::product {

inline constexpr int64_t kStrip = 32;  // output channels of a strip: one word of Ybits

// The rows of one item. Row r need not be contiguous: a format may keep planes of `count` rows.
struct Rows {
  uint8_t* base;
  int64_t count;
};

// Pixels of X that become rows. Bits: a pixel is the words of its channels. Floats: channel c of
// pixel i is element i*pixel_step + c*channel_step.
struct Pixels {
  const void* x;
  int64_t pixel_step;    // in elements of X (words or floats)
  int64_t channel_step;  // in elements of X; 1 for bits
  int64_t count;
};

// A rectangle of outputs of one item: positions times strips.
struct Block {
  const Shape* shape;
  const Plan* plan;
  const Call* call;
  const uint8_t* packed;
  Rows rows;
  uint8_t* scratch;  // Variant::unit_bytes, aligned to kAlignment
  int64_t item;
  int64_t position_begin, position_end;
  int64_t strip_begin, strip_end;
};

struct Variant {
  const char* name;
  // Tells whether the variant can compute this shape at all.
  bool (*fits)(const Shape&);
  // Bytes of one row, all groups. The scratch of an item is rows * row_bytes.
  int64_t (*row_bytes)(const Shape&);
  // Tells whether words of X that lie next to each other are rows as they are.
  bool (*direct)(const Shape&);
  // Writes rows first ... first + pixels.count - 1. Pad bits of X do not reach the rows.
  void (*expand)(const Shape&, Rows, int64_t first, const Pixels&);
  // Writes `count` rows of pixels outside the image, each channel Shape::pad_value. A format that
  // has no zero writes -1 instead and corrects the sums of the positions that touch the border.
  void (*fill)(const Shape&, Rows, int64_t first, int64_t count);
  // Weights: the size and the one-time rearrangement, as Product::Pack.
  size_t (*packed_bytes)(const Shape&);
  void (*pack)(const Shape&, const uint32_t* words, uint8_t* packed);
  // Scratch of one unit in bytes, and the positions that a unit should at least have.
  size_t (*unit_bytes)(const Shape&);
  int64_t position_grain;
  Cost cost;
  // Computes the outputs of the block.
  void (*multiply)(const Block&);
  // Tells whether multiply reads the images themselves, rows.base being the first of the item;
  // positions are then outputs, without gaps. Null: never.
  bool (*reads_images)(const Shape&) = nullptr;
  // Tells whether packed weights are words [strip][tap][word][plane][kStrip], a copy of which
  // serves all variants that do so. Null: never.
  bool (*packs_words)(const Shape&) = nullptr;
  // Tells whether lines that begin at a cache line, or half one, are worth a copy of the rows for
  // every kx. Null: never.
  bool (*whole_lines)(const Shape&) = nullptr;
  // Words times strips of all filters that a position costs, where that is not what their sizes,
  // rounded up, say. Null: it is.
  double (*cost_words)(const Shape&) = nullptr;
};

// ---- sizes that every variant needs ----
// Functions in the headers of this folder are static: each file is compiled for an instruction set
// of its own, and a copy made for a better one must never be linked into a file for a lesser one.

static inline int64_t GroupChannels(const Shape& s) { return s.channels / s.group; }
static inline int64_t GroupOutputs(const Shape& s) { return s.out_channels / s.group; }
static inline int64_t GroupWords(const Shape& s) { return bits::WordCount(GroupChannels(s)); }
static inline int64_t Taps(const Shape& s) { return s.kernel_h * s.kernel_w; }
static inline int64_t Planes(const Shape& s) { return s.codes == Codes::kBinary ? 1 : 2; }
static inline int64_t GroupStrips(const Shape& s) {
  return (GroupOutputs(s) + kStrip - 1) / kStrip;
}
static inline int64_t Strips(const Shape& s) { return GroupStrips(s) * s.group; }

// Tells whether a variant gathers for itself.
static inline bool ReadsImages(const Shape& s, const Variant& variant) {
  return variant.reads_images != nullptr && variant.reads_images(s);
}

// Tells whether every strip begins at a word of Ybits, so that strips share no word.
static inline bool StripsOwnWords(const Shape& s) {
  return s.group == 1 || GroupOutputs(s) % bits::kWordBits == 0;
}

struct Strip {
  int64_t group;
  int64_t first;  // output channel
  int64_t count;  // 1 ... kStrip
};

static inline Strip StripAt(const Shape& s, int64_t index) {
  const int64_t group = index / GroupStrips(s);
  const int64_t within = index % GroupStrips(s) * kStrip;
  const int64_t left = GroupOutputs(s) - within;
  return {group, group * GroupOutputs(s) + within, left < kStrip ? left : kStrip};
}

// Canonical words of one filter tap: W[plane, channel, tap, :].
static inline const uint32_t* TapWords(const Shape& s, const uint32_t* words, int64_t plane,
                                       int64_t channel, int64_t tap) {
  return words + ((plane * s.out_channels + channel) * Taps(s) + tap) * GroupWords(s);
}

// Word `index` of a row of `length` bits with its pad bits cleared.
static inline uint32_t MaskedWord(const uint32_t* words, int64_t index, int64_t length) {
  const bool last = index == bits::WordCount(length) - 1;
  return last ? words[index] & bits::LastWordMask(length) : words[index];
}

// Row of X that tap (ky, kx) reads for position 0.
static inline int64_t TapRow(const Plan& plan, int64_t ky, int64_t kx) {
  return ky * plan.tap_step_y + kx * plan.tap_step_x;
}

#define BNN_KERNEL(needed, variant) extern const Variant variant;
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_VARIANT_H_
