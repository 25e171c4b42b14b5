// Portable: sums in double, so that the order of the terms hardly matters.
#include "kernels/product/float_rows.h"

namespace bnn::product {
namespace {

// Packed: the canonical words [plane, channel, tap, word] without their pad bits.
size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Planes(s) * s.out_channels * Taps(s) * GroupWords(s)) *
         sizeof(uint32_t);
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  auto* out = reinterpret_cast<uint32_t*>(packed);
  for (int64_t row = 0; row < Planes(s) * s.out_channels * Taps(s); ++row) {
    for (int64_t i = 0; i < GroupWords(s); ++i) {
      *out++ = MaskedWord(words + row * GroupWords(s), i, GroupChannels(s));
    }
  }
}

bool BitAt(const uint32_t* words, int64_t i) { return words[i / 32] >> (i % 32) & 1u; }

// Sum of x*code over one filter; of x alone where the bits of a plane are set.
template <bool binary>
double Sum(const Block& b, int64_t position, int64_t plane, int64_t channel) {
  const Shape& s = *b.shape;
  const int64_t length = GroupChannels(s);
  const auto* words = reinterpret_cast<const uint32_t*>(b.packed);
  double sum = 0.0;
  for (int64_t tap = 0; tap < Taps(s); ++tap) {
    const int64_t row = position + TapRow(*b.plan, tap / s.kernel_w, tap % s.kernel_w);
    const float* x = float_rows::Row(s, b.rows, row) + channel / GroupOutputs(s) * length;
    const uint32_t* code = TapWords(s, words, plane, channel, tap);
    for (int64_t c = 0; c < length; ++c) {
      if (BitAt(code, c)) {
        sum += static_cast<double>(x[c]);
      } else if (binary) {
        sum -= static_cast<double>(x[c]);
      }
    }
  }
  return sum;
}

float Accumulate(const Block& b, int64_t position, int64_t channel) {
  if (b.shape->codes == Codes::kBinary) {
    return static_cast<float>(Sum<true>(b, position, 0, channel));
  }
  return Scaled(b.call->epilogue, channel, static_cast<float>(Sum<false>(b, position, 0, channel)),
                static_cast<float>(Sum<false>(b, position, 1, channel)));
}

void Multiply(const Block& b) {
  for (int64_t index = b.strip_begin; index < b.strip_end; ++index) {
    const Strip strip = StripAt(*b.shape, index);
    for (int64_t p = b.position_begin; p < b.position_end; ++p) {
      if (!IsOutput(*b.plan, p)) continue;
      float acc[kStrip];
      for (int64_t i = 0; i < strip.count; ++i) acc[i] = Accumulate(b, p, strip.first + i);
      Finish(b, strip, p, acc);
    }
  }
}

size_t NoScratch(const Shape&) { return 0; }

}  // namespace

const Variant float_scalar = {
    "float_scalar",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    PackedBytes,
    Pack,
    NoScratch,
    4,
    1,
    Multiply,
};

}  // namespace bnn::product
