#include "ops/product_layout.h"

#include <array>
#include <string>

#include "base/bits.h"
#include "ops/limits.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

using ort::Shape;

std::string Words(int64_t length) {
  return std::to_string(bits::WordCount(length)) + " (words of " + std::to_string(length) +
         " bits)";
}

// Reads the attributes of a convolution.
product::Shape ConvGeometry(const ort::Attributes& attributes) {
  const auto strides = attributes.Ints<2>("strides", 1, kMaxExtent);
  const auto dilations = attributes.Ints<2>("dilations", 1, kMaxExtent);
  const auto pads = attributes.Ints<4>("pads", 0, kMaxExtent);
  product::Shape g;
  g.channels = attributes.Int("channels", 1, kMaxDepth);
  g.group = attributes.Int("group", 1, g.channels);
  g.stride_h = strides[0], g.stride_w = strides[1];
  g.dilation_h = dilations[0], g.dilation_w = dilations[1];
  g.pad_top = pads[0], g.pad_left = pads[1], g.pad_bottom = pads[2], g.pad_right = pads[3];
  g.pad_value = static_cast<int>(attributes.Int("pad_value", -1, 1));
  if (g.channels % g.group != 0) {
    ort::Fail("attribute group", std::to_string(g.group),
              "a divisor of channels " + std::to_string(g.channels));
  }
  return g;
}

product::Shape GemmGeometry(const ort::Attributes& attributes) {
  product::Shape g;
  g.channels = attributes.Int("k", 1, kMaxDepth);
  return g;
}

}  // namespace

ProductLayout::ProductLayout(ProductKind kind, WeightKind weights,
                             const ort::Attributes& attributes)
    : kind_(kind),
      weights_(weights),
      acc_min_(attributes.Float("acc_min")),
      geometry_(kind == ProductKind::kConv ? ConvGeometry(attributes) : GemmGeometry(attributes)) {}

std::string ProductLayout::ExpectedWeights() const {
  const std::string words = Words(geometry_.channels / geometry_.group);
  const std::string planes = weights_ == WeightKind::kTernary ? "2, " : "";
  return "[" + planes + (kind_ == ProductKind::kConv ? "O, kh, kw, " : "N, ") + words + "]";
}

void ProductLayout::CheckGroupsOfBits() const {
  const int64_t depth = geometry_.channels / geometry_.group;
  if (geometry_.group == 1 || depth % bits::kWordBits == 0) return;
  ort::Fail("attribute group",
            std::to_string(geometry_.group) + " groups of " + std::to_string(depth) + " channels",
            "a multiple of 32 channels a group, or float X");
}

product::Shape ProductLayout::WithWeights(const Shape& w) const {
  const size_t planes = weights_ == WeightKind::kTernary ? 1 : 0;
  const size_t rank = planes + (kind_ == ProductKind::kConv ? 4 : 2);
  const int64_t depth = geometry_.channels / geometry_.group;
  const bool fits =
      w.rank == rank && (planes == 0 || w[0] == 2) && w[rank - 1] == bits::WordCount(depth);
  if (!fits) ort::Fail("input W", "shape " + ToString(w), ExpectedWeights());

  product::Shape g = geometry_;
  g.codes = planes ? product::Codes::kTernary : product::Codes::kBinary;
  g.out_channels = w[planes];
  if (kind_ == ProductKind::kConv) g.kernel_h = w[planes + 1], g.kernel_w = w[planes + 2];
  if (g.out_channels < 1 || g.out_channels > kMaxDepth || g.out_channels % g.group != 0) {
    ort::Fail("input W", std::to_string(g.out_channels) + " filters",
              "a positive multiple of group " + std::to_string(g.group) + ", at most 2^24");
  }
  if (g.kernel_h < 1 || g.kernel_h > kMaxExtent || g.kernel_w < 1 || g.kernel_w > kMaxExtent) {
    ort::Fail("input W",
              "a kernel of " + std::to_string(g.kernel_h) + " x " + std::to_string(g.kernel_w),
              "sizes from 1 to 65536");
  }
  if (g.kernel_h * g.kernel_w > kMaxDepth / depth) {
    ort::Fail("input W", std::to_string(g.kernel_h * g.kernel_w * depth) + " codes a filter",
              "at most 2^24, so that every sum is an exact float32");
  }
  return g;
}

void ProductLayout::CheckInput(const Shape& x, bool bits) const {
  const int64_t depth = geometry_.channels;
  const std::string last = bits ? Words(depth) : std::to_string(depth);
  if (kind_ == ProductKind::kGemm) {
    const int64_t expected = bits ? bits::WordCount(depth) : depth;
    if (x.rank == 2 && x[1] == expected) return;
    ort::Fail("input X", "shape " + ToString(x), "[M, " + last + "]");
  }
  const int64_t found = x.rank == 4 ? x[bits ? 3 : 1] : -1;
  if (found == (bits ? bits::WordCount(depth) : depth)) return;
  ort::Fail("input X", "shape " + ToString(x),
            bits ? "[N, H, W, " + last + "]" : "[N, " + last + ", H, W]");
}

Shape ProductLayout::OutputShape(const Shape& x, const product::Shape& g, bool bits) const {
  Shape y;
  y.rank = kind_ == ProductKind::kConv ? 4 : 2;
  y.CopyAxis(0, x, 0);
  y.dims[1] = g.out_channels;
  if (kind_ == ProductKind::kGemm) return y;
  const int64_t height = x[bits ? 1 : 2], width = x[bits ? 2 : 3];
  y.dims[2] = height < 0 ? -1
                         : product::OutputExtent(height, g.kernel_h, g.stride_h, g.dilation_h,
                                                 g.pad_top, g.pad_bottom);
  y.dims[3] = width < 0 ? -1
                        : product::OutputExtent(width, g.kernel_w, g.stride_w, g.dilation_w,
                                                g.pad_left, g.pad_right);
  return y;
}

}  // namespace bnn::ops
