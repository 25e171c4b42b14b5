#include "kernels/product/float_rows.h"

#include <cstring>

#include "base/half.h"

namespace bnn::product::float_rows {

bool Fits(const Shape& s) { return s.x != Element::kBits; }

int64_t RowBytes(const Shape& s) { return s.channels * static_cast<int64_t>(sizeof(float)); }

bool Direct(const Shape& s) { return s.x == Element::kFloat32; }

void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  auto* row = reinterpret_cast<float*>(rows.base) + first * s.channels;
  // Channel by channel: pixels of one channel are neighbours in an image.
  for (int64_t c = 0; c < s.channels; ++c) {
    const int64_t channel = c * pixels.channel_step;
    if (s.x == Element::kFloat16) {
      const auto* x = static_cast<const uint16_t*>(pixels.x) + channel;
      for (int64_t p = 0; p < pixels.count; ++p) {
        row[p * s.channels + c] = HalfToFloat(x[p * pixels.pixel_step]);
      }
    } else {
      const auto* x = static_cast<const float*>(pixels.x) + channel;
      for (int64_t p = 0; p < pixels.count; ++p) {
        row[p * s.channels + c] = x[p * pixels.pixel_step];
      }
    }
  }
}

void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  auto* row = reinterpret_cast<float*>(rows.base) + first * s.channels;
  for (int64_t i = 0; i < count * s.channels; ++i) row[i] = static_cast<float>(s.pad_value);
}

size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s) * StripWords(s)) * sizeof(uint32_t);
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes(s));
  auto* out = reinterpret_cast<uint32_t*>(packed);
  const int64_t length = GroupChannels(s);
  for (int64_t index = 0; index < Strips(s); ++index) {
    const Strip strip = StripAt(s, index);
    for (int64_t tap = 0; tap < Taps(s); ++tap) {
      for (int64_t c = 0; c < length; ++c) {
        for (int64_t plane = 0; plane < Planes(s); ++plane, ++out) {
          for (int64_t lane = 0; lane < strip.count; ++lane) {
            const uint32_t* row = TapWords(s, words, plane, strip.first + lane, tap);
            *out |= (row[c / 32] >> (c % 32) & 1u) << lane;
          }
        }
      }
    }
  }
}

size_t NoScratch(const Shape&) { return 0; }

}  // namespace bnn::product::float_rows
