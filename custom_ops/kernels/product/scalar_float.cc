// Portable: sums in double, so that the order of the terms hardly matters.
#include "kernels/product/float_rows.h"

namespace bnn::product {
namespace {

// Sums of one position over one plane: of x*code for binary codes, else of x*bit.
void Sum(const Block& b, const Strip& strip, int64_t position, const uint32_t* code, double* sums) {
  const Shape& s = *b.shape;
  const bool binary = s.codes == Codes::kBinary;
  for (int64_t i = 0; i < kStrip; ++i) sums[i] = 0.0;
  for (int64_t tap = 0; tap < Taps(s); ++tap) {
    const int64_t row = position + TapRow(*b.plan, tap / s.kernel_w, tap % s.kernel_w);
    const float* x = float_rows::Row(b, row, strip.group);
    for (int64_t c = 0; c < GroupChannels(s); ++c, code += Planes(s)) {
      const auto value = static_cast<double>(x[c]);
      const double term[2] = {binary ? -value : 0.0 * value, value};  // 0 * NaN is NaN
      for (int64_t i = 0; i < kStrip; ++i) sums[i] += term[*code >> i & 1u];
    }
  }
}

void Multiply(const Block& b) {
  for (int64_t index = b.strip_begin; index < b.strip_end; ++index) {
    const Strip strip = StripAt(*b.shape, index);
    const uint32_t* codes = float_rows::StripCodes(b, index);
    for (int64_t p = b.position_begin; p < b.position_end; ++p) {
      if (!IsOutput(*b.plan, p)) continue;
      double sums[2][kStrip];
      for (int64_t plane = 0; plane < Planes(*b.shape); ++plane) {
        Sum(b, strip, p, codes + plane, sums[plane]);
      }
      float acc[kStrip];
      for (int64_t i = 0; i < strip.count; ++i) {
        acc[i] = static_cast<float>(sums[0][i]);
        if (b.shape->codes == Codes::kBinary) continue;
        acc[i] = Scaled(b.call->epilogue, strip.first + i, acc[i], static_cast<float>(sums[1][i]));
      }
      Finish(b, strip, p, acc);
    }
  }
}

}  // namespace

const Variant float_scalar = {
    "float_scalar",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    float_rows::PackedBytes,
    float_rows::Pack,
    float_rows::NoScratch,
    4,
    {1, 60.0, 0.0, 720.0, 9.4, 215.0},
    Multiply,
};

}  // namespace bnn::product
