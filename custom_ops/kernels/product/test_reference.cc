#include "kernels/product/test_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bits.h"
#include "base/half.h"

namespace bnn::product {
namespace {

using testing::Random;

float Rounded(const Shape& s, float v) {
  return s.y == Element::kFloat16 ? HalfToFloat(FloatToHalf(v)) : v;
}

std::vector<float> MakeVector(int64_t channels, float neutral, bool wanted, Random* random) {
  if (!wanted) return {neutral};
  std::vector<float> v(static_cast<size_t>(random->Chance(50) ? channels : 1));
  for (float& e : v) e = random->Real();
  return v;
}

void MakeWeights(Case* c, Random* random) {
  const Shape& s = c->shape;
  const int64_t length = s.channels / s.group;
  const int64_t row_words = bits::WordCount(length);
  const int64_t rows = s.out_channels * s.kernel_h * s.kernel_w;
  const int planes = s.codes == Codes::kBinary ? 1 : 2;
  c->words.assign(static_cast<size_t>(planes * rows * row_words), 0);
  for (int64_t i = 0; i < rows * row_words; ++i) {
    const uint32_t valid = i % row_words == row_words - 1 ? bits::LastWordMask(length) : ~0u;
    const auto code = static_cast<uint32_t>(random->Bits()) & valid;
    const auto mask = static_cast<uint32_t>(random->Bits() | random->Bits()) & valid;
    c->words[static_cast<size_t>(i)] = planes == 1 ? code : code & mask;
    if (planes == 2) c->words[static_cast<size_t>(rows * row_words + i)] = ~code & mask;
  }
}

// Size of whole numbers, now and then the largest whose sums are exact in float32 in any order.
int64_t LargestWhole(const Shape& s, Random* random) {
  if (random->Chance(60)) return 9;
  const int64_t terms = s.kernel_h * s.kernel_w * s.channels / s.group;
  const int64_t largest = ((int64_t{1} << 23) - 1) / terms;
  return s.x == Element::kFloat16 ? std::min<int64_t>(largest, 2048) : largest;
}

void MakeInput(Case* c, bool whole, Random* random) {
  const Shape& s = c->shape;
  const int64_t pixels = c->batch * c->height * c->width;
  if (s.x == Element::kBits) {
    c->x_words.resize(static_cast<size_t>(pixels * bits::WordCount(s.channels)));
    for (uint32_t& w : c->x_words) w = static_cast<uint32_t>(random->Bits());  // pad bits too
    return;
  }
  const int special_percent = random->Chance(10) ? 1 : 0;  // they spread through whole filters
  const int64_t largest = LargestWhole(s, random);
  const bool wide = s.x == Element::kFloat32 && random->Chance(50);
  c->x_floats.resize(static_cast<size_t>(pixels * s.channels));
  for (float& v : c->x_floats) {
    v = whole ? static_cast<float>(random->Between(-largest, largest)) : random->Real();
    if (!whole && wide) v = std::ldexp(v, static_cast<int>(random->Between(-12, 12)));
    if (whole && random->Chance(special_percent)) {
      const float infinity = std::numeric_limits<float>::infinity();
      v = random->OneOf<float>({std::nanf(""), infinity, -infinity});
    }
    if (s.x == Element::kFloat16) v = HalfToFloat(FloatToHalf(v));
  }
}

void MakeEpilogue(Case* c, bool wanted, Random* random) {
  const Shape& s = c->shape;
  const int64_t channels = s.out_channels;
  const auto some = [&] { return wanted && random->Chance(60); };
  c->scale = MakeVector(channels, 1.0f, some(), random);
  c->bias = MakeVector(channels, -0.0f, some(), random);
  c->slope = MakeVector(channels, 1.0f, some(), random);
  c->shift = MakeVector(channels, -0.0f, some(), random);
  c->threshold = MakeVector(channels, 0.0f, some(), random);
  c->acc_min =
      some() ? static_cast<float>(random->Between(-9, 9)) : -std::numeric_limits<float>::infinity();
  const bool residual = some();
  c->residual.assign(static_cast<size_t>(residual ? c->outputs() : 1), -0.0f);
  if (residual) {
    for (float& v : c->residual) v = Rounded(s, random->Real());
    if (random->Chance(20) && !c->residual.empty()) c->residual[0] = std::nanf("");
  }
  c->w_pos = MakeVector(channels, 1.0f, s.codes == Codes::kTernary, random);
  c->w_neg = MakeVector(channels, 1.0f, s.codes == Codes::kTernary, random);
  if (s.codes == Codes::kTernaryEqual) {
    c->w_pos.assign(static_cast<size_t>(channels), 0.5f);
    for (float& w : c->w_pos) w = random->Chance(50) ? 2.0f : -0.25f;
    c->w_neg = c->w_pos;
  }
}

float XAt(const Case& c, int64_t n, int64_t channel, int64_t y, int64_t x) {
  const Shape& s = c.shape;
  if (y < 0 || y >= c.height || x < 0 || x >= c.width) return static_cast<float>(s.pad_value);
  if (s.x == Element::kBits) {
    const int64_t row = ((n * c.height + y) * c.width + x) * bits::WordCount(s.channels);
    const uint32_t word = c.x_words[static_cast<size_t>(row + channel / 32)];
    return word >> (channel % 32) & 1u ? 1.0f : -1.0f;
  }
  return c.x_floats[static_cast<size_t>(((n * s.channels + channel) * c.height + y) * c.width + x)];
}

bool CodeAt(const Case& c, int64_t plane, int64_t out, int64_t tap, int64_t channel) {
  const Shape& s = c.shape;
  const int64_t row_words = bits::WordCount(s.channels / s.group);
  const int64_t row = (plane * s.out_channels + out) * s.kernel_h * s.kernel_w + tap;
  return c.words[static_cast<size_t>(row * row_words + channel / 32)] >> (channel % 32) & 1u;
}

struct Accumulator {
  double sum[2] = {0.0, 0.0};  // of each plane; binary: of x*code in the first
  double magnitude = 0.0;
  int64_t terms = 0;
};

Accumulator Accumulate(const Case& c, int64_t n, int64_t out, int64_t oy, int64_t ox) {
  const Shape& s = c.shape;
  const int64_t length = s.channels / s.group;
  const int64_t first = out / (s.out_channels / s.group) * length;
  Accumulator a;
  for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < s.kernel_w; ++kx) {
      const int64_t y = oy * s.stride_h + ky * s.dilation_h - s.pad_top;
      const int64_t x = ox * s.stride_w + kx * s.dilation_w - s.pad_left;
      for (int64_t i = 0; i < length; ++i, ++a.terms) {
        const double v = static_cast<double>(XAt(c, n, first + i, y, x));
        a.magnitude += std::fabs(v);
        const bool set = CodeAt(c, 0, out, ky * s.kernel_w + kx, i);
        if (s.codes == Codes::kBinary) {
          a.sum[0] += set ? v : -v;
        } else {
          a.sum[0] += set ? v : 0.0 * v;  // 0 * NaN is NaN
          a.sum[1] += CodeAt(c, 1, out, ky * s.kernel_w + kx, i) ? v : 0.0 * v;
        }
      }
    }
  }
  return a;
}

float At(const std::vector<float>& v, int64_t i) {
  return v.size() == 1 ? v[0] : v[static_cast<size_t>(i)];
}

float Epilogued(const Case& c, float v, int64_t out, int64_t index) {
  if (v < c.acc_min) v = c.acc_min;
  v = v * At(c.scale, out);
  v = v + At(c.bias, out);
  v = v + At(c.residual, index);
  if (!(v >= 0.0f)) v = v * At(c.slope, out);
  v = v + At(c.shift, out);
  return Rounded(c.shape, v);
}

}  // namespace

std::string Case::ToString() const {
  const Shape& s = shape;
  char text[400];
  std::snprintf(
      text, sizeof text,
      "x %d y %d codes %d, N %lld H %lld W %lld C %lld O %lld group %lld kernel %lldx%lld "
      "stride %lld,%lld dilation %lld,%lld pads %lld,%lld,%lld,%lld value %d",
      static_cast<int>(s.x), static_cast<int>(s.y), static_cast<int>(s.codes),
      static_cast<long long>(batch), static_cast<long long>(height), static_cast<long long>(width),
      static_cast<long long>(s.channels), static_cast<long long>(s.out_channels),
      static_cast<long long>(s.group), static_cast<long long>(s.kernel_h),
      static_cast<long long>(s.kernel_w), static_cast<long long>(s.stride_h),
      static_cast<long long>(s.stride_w), static_cast<long long>(s.dilation_h),
      static_cast<long long>(s.dilation_w), static_cast<long long>(s.pad_top),
      static_cast<long long>(s.pad_left), static_cast<long long>(s.pad_bottom),
      static_cast<long long>(s.pad_right), s.pad_value);
  return text;
}

Case MakeCase(const Shape& shape, int64_t batch, int64_t height, int64_t width, bool whole,
              Random* random) {
  Case c;
  const Shape& s = c.shape = shape;
  c.batch = batch;
  c.height = height;
  c.width = width;
  c.out_h = OutputExtent(height, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.pad_bottom);
  c.out_w = OutputExtent(width, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.pad_right);
  MakeWeights(&c, random);
  MakeInput(&c, whole, random);
  MakeEpilogue(&c, whole, random);
  return c;
}

Outputs Reference(const Case& c) {
  const Shape& s = c.shape;
  const int64_t words = bits::WordCount(s.out_channels);
  const int64_t area = c.out_h * c.out_w;
  Outputs out;
  out.y.resize(static_cast<size_t>(c.outputs()));
  out.bound.resize(out.y.size());
  out.bits.assign(static_cast<size_t>(c.batch * area * words), 0);
  for (int64_t i = 0; i < c.outputs(); ++i) {
    const int64_t n = i / (s.out_channels * area), o = i / area % s.out_channels, p = i % area;
    const Accumulator a = Accumulate(c, n, o, p / c.out_w, p % c.out_w);
    float v = static_cast<float>(a.sum[0]);
    double weight = 1.0;
    if (s.codes != Codes::kBinary) {
      const float positive = v * At(c.w_pos, o);
      const float negative = static_cast<float>(a.sum[1]) * At(c.w_neg, o);
      v = positive - negative;
      weight = std::fabs(At(c.w_pos, o)) + std::fabs(At(c.w_neg, o));
    }
    const float y = Epilogued(c, v, o, i);
    out.y[static_cast<size_t>(i)] = y;
    out.bound[static_cast<size_t>(i)] =
        static_cast<float>(static_cast<double>(a.terms) * 0x1p-24 * a.magnitude * weight);
    if (y >= At(c.threshold, o)) {
      out.bits[static_cast<size_t>((n * area + p) * words + o / 32)] |= 1u << (o % 32);
    }
  }
  return out;
}

}  // namespace bnn::product
