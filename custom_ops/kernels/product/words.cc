#include "kernels/product/words.h"

#include <algorithm>
#include <type_traits>

namespace bnn::product::words {
namespace {

uint32_t WordOrZero(const uint32_t* words, int64_t index, int64_t length) {
  return index < bits::WordCount(length) ? MaskedWord(words, index, length) : 0;
}

void StoreLane(uint8_t* at, uint64_t lane) { std::memcpy(at, &lane, sizeof lane); }

// Writes one row; `word(g, i)` is word i of group g.
template <typename Format, typename Word>
void WriteRow(const Shape& s, const Word& word, uint8_t* row) {
  const int64_t lanes = GroupLanes<Format>(s);
  for (int64_t g = 0; g < s.group; ++g) {
    for (int64_t i = 0; i < lanes; ++i, row += 8) {
      StoreLane(row, Format::Make([&](int64_t w) { return word(g, w); }, i));
    }
  }
}

// Adds the codes of one tap to the header of its strip.
void CountTap(const Shape& s, const uint32_t* words, const Strip& strip, int64_t lane, int64_t tap,
              int32_t* header) {
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
  const uint32_t* positive = TapWords(s, words, 0, strip.first + lane, tap);
  for (int64_t plane = 0; plane < Planes(s); ++plane) {
    const uint32_t* row = TapWords(s, words, plane, strip.first + lane, tap);
    const bool is_mask = plane == 1 && s.codes == Codes::kTernaryEqual;
    const auto get = [&](int64_t i) {
      const uint32_t word = WordOrZero(row, i, length);
      return is_mask ? word | WordOrZero(positive, i, length) : word;
    };
    for (int64_t i = 0; i < GroupLanes<Format>(s); ++i) {
      const int64_t at = ((tap * GroupLanes<Format>(s) + i) * Planes(s) + plane) * kStrip + lane;
      StoreLane(lanes + at * 8, Format::Make(get, i));
    }
  }
}

// The outputs along one axis, of `count`, whose `kernel` taps stay within `size` pixels.
void FindInside(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad,
                int64_t count, int64_t* begin, int64_t* end) {
  const int64_t last_start = size - 1 - (kernel - 1) * dilation + pad;  // in the padded image
  *begin = (pad + stride - 1) / stride;
  *end = last_start < 0 ? 0 : std::min(count, last_start / stride + 1);
}

}  // namespace

bool Fits(const Shape& s) { return s.x == Element::kBits; }

bool PlainDirect(const Shape& s) { return GroupChannels(s) % 64 == 0; }

bool NeverDirect(const Shape&) { return false; }

size_t NoScratch(const Shape&) { return 0; }

template <typename Format>
int64_t RowBytes(const Shape& s) {
  return s.group * GroupLanes<Format>(s) * 8;
}

// Rows of whole words without pad bits: lanes of one group follow those of the one before.
static void ExpandWhole(Plain, const Pixels& pixels, int64_t words, uint8_t* row) {
  const auto* x = static_cast<const uint32_t*>(pixels.x);
  const size_t bytes = static_cast<size_t>(words) * 4;
  if (pixels.pixel_step == words) {
    std::memcpy(row, x, bytes * static_cast<size_t>(pixels.count));
    return;
  }
  for (int64_t p = 0; p < pixels.count; ++p, x += pixels.pixel_step, row += bytes) {
    for (int64_t i = 0; i < words; i += 2) std::memcpy(row + 4 * i, x + i, 8);
  }
}

static void ExpandWhole(Nibbles, const Pixels& pixels, int64_t words, uint8_t* row) {
  const auto* x = static_cast<const uint32_t*>(pixels.x);
  for (int64_t p = 0; p < pixels.count; ++p, x += pixels.pixel_step) {
    for (int64_t i = 0; i < words; ++i, row += 8) {
      StoreLane(row, Nibbles::Make([x](int64_t w) { return x[w]; }, i));
    }
  }
}

template <typename Format>
void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  const int64_t length = GroupChannels(s);
  const int64_t row_bytes = RowBytes<Format>(s);
  uint8_t* row = rows.base + first * row_bytes;
  if (length % (std::is_same_v<Format, Plain> ? 64 : bits::kWordBits) == 0) {
    return ExpandWhole(Format(), pixels, bits::WordCount(s.channels), row);
  }
  const auto* words = static_cast<const uint32_t*>(pixels.x);
  for (int64_t p = 0; p < pixels.count; ++p, row += row_bytes, words += pixels.pixel_step) {
    WriteRow<Format>(
        s, [&](int64_t g, int64_t i) { return WordOrZero(words + g * GroupWords(s), i, length); },
        row);
  }
}

template <typename Format>
void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  const int64_t length = GroupChannels(s);
  const auto row_bytes = static_cast<size_t>(RowBytes<Format>(s));
  uint8_t* row = rows.base + static_cast<size_t>(first) * row_bytes;
  if (s.pad_value <= 0) {
    std::memset(row, 0, static_cast<size_t>(count) * row_bytes);
    return;
  }
  const auto word = [&](int64_t, int64_t i) -> uint32_t {
    if (i >= bits::WordCount(length)) return 0;
    return i + 1 == bits::WordCount(length) ? bits::LastWordMask(length) : ~0u;
  };
  for (int64_t p = 0; p < count; ++p, row += row_bytes) WriteRow<Format>(s, word, row);
}

template <typename Format>
size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s)) * StripBytes<Format>(s);
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

Interior FindInterior(const Shape& s, const Plan& plan) {
  const bool borders = s.pad_top != 0 || s.pad_left != 0 || s.pad_bottom != 0 || s.pad_right != 0;
  if (s.pad_value != 0 || !borders) return {0, INT64_MAX, 0, INT64_MAX};
  Interior interior;
  FindInside(plan.height, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, plan.out_h,
             &interior.line_begin, &interior.line_end);
  FindInside(plan.width, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, plan.out_w,
             &interior.column_begin, &interior.column_end);
  // Images side by side have their one output in common.
  if (plan.out_h * plan.out_w == 1 && interior.Holds(0, 0)) return {0, INT64_MAX, 0, INT64_MAX};
  return interior;
}

#define BNN_INSTANTIATE(Format)                                             \
  template int64_t RowBytes<Format>(const Shape&);                          \
  template void Expand<Format>(const Shape&, Rows, int64_t, const Pixels&); \
  template void Fill<Format>(const Shape&, Rows, int64_t, int64_t);         \
  template size_t PackedBytes<Format>(const Shape&);                        \
  template void Pack<Format>(const Shape&, const uint32_t*, uint8_t*);
BNN_INSTANTIATE(Plain)
BNN_INSTANTIATE(Nibbles)
#undef BNN_INSTANTIATE

}  // namespace bnn::product::words
