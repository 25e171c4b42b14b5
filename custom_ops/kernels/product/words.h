// Packed weights of the variants that count bits: 64-bit lanes, one output channel a lane.
//
// Per plane of sums a variant counts raw = popcount((x ^ code) & mask) over all taps, where mask
// marks the codes that are not zero; then the sum of x*code is total - 2*raw. Rows outside the image
// hold -1; where pad_value is 0 the sums of their taps are added back, which leaves 0.
//
//   Codes          planes of sums   code, mask
//   kBinary        1                W, every channel
//   kTernaryEqual  1                plane 0, plane 0 | plane 1
//   kTernary       2                plane j, plane j
//
// Packed strip: int32 totals[sums][kStrip]; int32 tap_sums[taps][sums][kStrip]; then, per tap and
// lane word, uint64 code[sums][kStrip] (kTernaryEqual: code[kStrip], mask[kStrip]). kBinary and
// kTernary need no mask: pad bits are 0 in rows and codes, and (x ^ p) & p = ~x & p.
#ifndef BNN_KERNELS_PRODUCT_WORDS_H_
#define BNN_KERNELS_PRODUCT_WORDS_H_

#include <cstring>

#include "kernels/product/finish.h"

namespace bnn::product::words {

inline int64_t Sums(const Shape& s) { return s.codes == Codes::kTernary ? 2 : 1; }

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

template <typename Format>
int64_t GroupLanes(const Shape& s) {
  return Format::Count(GroupChannels(s));
}

inline uint32_t WordOrZero(const uint32_t* words, int64_t index, int64_t length) {
  return index < bits::WordCount(length) ? MaskedWord(words, index, length) : 0;
}

inline void StoreLane(uint8_t* at, uint64_t lane) { std::memcpy(at, &lane, sizeof lane); }

// ---- rows ----

template <typename Format>
int64_t RowBytes(const Shape& s) {
  return s.group * GroupLanes<Format>(s) * 8;
}

// Writes one row; `word(g, i)` is word i of group g.
template <typename Format, typename Word>
void WriteRow(const Shape& s, const Word& word, uint8_t* row) {
  for (int64_t g = 0; g < s.group; ++g) {
    for (int64_t i = 0; i < GroupLanes<Format>(s); ++i, row += 8) {
      StoreLane(row, Format::Make([&](int64_t w) { return word(g, w); }, i));
    }
  }
}

template <typename Format>
void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  const int64_t length = GroupChannels(s);
  const auto* words = static_cast<const uint32_t*>(pixels.x);
  uint8_t* row = rows.base + first * RowBytes<Format>(s);
  for (int64_t p = 0; p < pixels.count; ++p, row += RowBytes<Format>(s)) {
    WriteRow<Format>(
        s, [&](int64_t g, int64_t i) { return WordOrZero(words + g * GroupWords(s), i, length); },
        row);
    words += pixels.pixel_step;
  }
}

template <typename Format>
void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  const int64_t length = GroupChannels(s);
  uint8_t* row = rows.base + first * RowBytes<Format>(s);
  const auto word = [&](int64_t, int64_t i) -> uint32_t {
    if (s.pad_value <= 0 || i >= bits::WordCount(length)) return 0;
    return i + 1 == bits::WordCount(length) ? bits::LastWordMask(length) : ~0u;
  };
  for (int64_t p = 0; p < count; ++p, row += RowBytes<Format>(s)) WriteRow<Format>(s, word, row);
}

// ---- weights ----

inline size_t HeaderBytes(const Shape& s) {
  return static_cast<size_t>((1 + Taps(s)) * Sums(s) * kStrip) * sizeof(int32_t);
}

template <typename Format>
size_t StripBytes(const Shape& s) {
  return HeaderBytes(s) +
         static_cast<size_t>(Taps(s) * GroupLanes<Format>(s) * Planes(s) * kStrip) * 8;
}

template <typename Format>
size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s)) * StripBytes<Format>(s);
}

// Adds the codes of one tap to the header of its strip.
inline void CountTap(const Shape& s, const uint32_t* words, const Strip& strip, int64_t lane,
                     int64_t tap, int32_t* header) {
  const int64_t length = GroupChannels(s);
  int32_t set[2] = {0, 0};
  for (int64_t plane = 0; plane < Planes(s); ++plane) {
    const uint32_t* row = TapWords(s, words, plane, strip.first + lane, tap);
    for (int64_t i = 0; i < GroupWords(s); ++i) {
      set[plane] += bits::PopCount(MaskedWord(row, i, length));
    }
  }
  for (int64_t sum = 0; sum < Sums(s); ++sum) {
    int32_t total = set[sum], tap_sum = set[sum];
    if (s.codes == Codes::kBinary) {
      total = static_cast<int32_t>(length);
      tap_sum = 2 * set[0] - total;
    } else if (s.codes == Codes::kTernaryEqual) {
      total = set[0] + set[1];
      tap_sum = set[0] - set[1];
    }
    header[sum * kStrip + lane] += total;
    header[((1 + tap) * Sums(s) + sum) * kStrip + lane] = tap_sum;
  }
}

template <typename Format>
void PackTap(const Shape& s, const uint32_t* words, const Strip& strip, int64_t lane, int64_t tap,
             uint8_t* lanes) {
  const int64_t length = GroupChannels(s);
  for (int64_t plane = 0; plane < Planes(s); ++plane) {
    const uint32_t* row = TapWords(s, words, plane, strip.first + lane, tap);
    const uint32_t* first = TapWords(s, words, 0, strip.first + lane, tap);
    const bool is_mask = plane == 1 && s.codes == Codes::kTernaryEqual;
    const auto get = [&](int64_t i) {
      const uint32_t word = WordOrZero(row, i, length);
      return is_mask ? word | WordOrZero(first, i, length) : word;
    };
    for (int64_t i = 0; i < GroupLanes<Format>(s); ++i) {
      const int64_t at = ((tap * GroupLanes<Format>(s) + i) * Planes(s) + plane) * kStrip + lane;
      StoreLane(lanes + at * 8, Format::Make(get, i));
    }
  }
}

template <typename Format>
void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes<Format>(s));
  for (int64_t index = 0; index < Strips(s); ++index, packed += StripBytes<Format>(s)) {
    const Strip strip = StripAt(s, index);
    for (int64_t lane = 0; lane < strip.count; ++lane) {
      for (int64_t tap = 0; tap < Taps(s); ++tap) {
        CountTap(s, words, strip, lane, tap, reinterpret_cast<int32_t*>(packed));
        PackTap<Format>(s, words, strip, lane, tap, packed + HeaderBytes(s));
      }
    }
  }
}

// ---- sums ----

// Adds tap_sums[0 ... Sums*kStrip) of every tap outside the image to sums: the border correction.
// Only pad_value 0 needs it.
inline void AddOutsideTaps(const Block& b, const int32_t* header, int64_t position,
                           int32_t* sums) {
  const Shape& s = *b.shape;
  const Plan& plan = *b.plan;
  const bool images = plan.out_h * plan.out_w == 1;
  const int64_t top = (images ? 0 : position / plan.pitch) * s.stride_h - s.pad_top;
  const int64_t left = (images ? 0 : position % plan.pitch) * s.stride_w - s.pad_left;
  const int64_t bottom = top + (s.kernel_h - 1) * s.dilation_h;
  const int64_t right = left + (s.kernel_w - 1) * s.dilation_w;
  if (top >= 0 && left >= 0 && bottom < plan.height && right < plan.width) return;
  const int64_t lanes = Sums(s) * kStrip;
  for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
    const int64_t y = top + ky * s.dilation_h;
    for (int64_t kx = 0; kx < s.kernel_w; ++kx) {
      const int64_t x = left + kx * s.dilation_w;
      if (y >= 0 && y < plan.height && x >= 0 && x < plan.width) continue;
      const int32_t* tap_sums = header + (1 + ky * s.kernel_w + kx) * lanes;
      for (int64_t i = 0; i < lanes; ++i) sums[i] += tap_sums[i];
    }
  }
}

// Turns counts raw[Sums][kStrip] of one position into sums of x*code, in place.
inline void SumsFromCounts(const Block& b, const int32_t* header, int64_t position, int32_t* raw) {
  for (int64_t i = 0; i < Sums(*b.shape) * kStrip; ++i) raw[i] = header[i] - 2 * raw[i];
  if (b.shape->pad_value == 0) AddOutsideTaps(b, header, position, raw);
}

// The first epilogue step: floats that Finish takes from sums[Sums][kStrip].
inline void FirstStep(const Block& b, const Strip& strip, const int32_t* sums, float* acc) {
  const Epilogue& e = b.call->epilogue;
  for (int64_t i = 0; i < strip.count; ++i) {
    const auto sum = static_cast<float>(sums[i]);
    if (b.shape->codes == Codes::kBinary) acc[i] = sum;
    if (b.shape->codes == Codes::kTernaryEqual) acc[i] = Scaled(e, strip.first + i, sum, 0.0f);
    if (b.shape->codes == Codes::kTernary) {
      acc[i] = Scaled(e, strip.first + i, sum, static_cast<float>(sums[kStrip + i]));
    }
  }
}

// Whole lane words without pad bits: X itself is rows of the plain format.
inline bool PlainDirect(const Shape& s) { return GroupChannels(s) % 64 == 0; }
inline bool NeverDirect(const Shape&) { return false; }

inline bool Fits(const Shape& s) { return s.x == Element::kBits; }
inline size_t NoScratch(const Shape&) { return 0; }

}  // namespace bnn::product::words

#endif  // BNN_KERNELS_PRODUCT_WORDS_H_
