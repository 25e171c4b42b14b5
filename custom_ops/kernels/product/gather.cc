#include "kernels/product/gather.h"

namespace bnn::product {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// X seen as pixels: where pixel (image, y, x) lies and how far its neighbours are, in elements.
struct Image {
  const Shape& shape;
  const Plan& plan;
  const void* x;

  int64_t PixelElements() const {
    return shape.x == Element::kBits ? bits::WordCount(shape.channels) : 1;
  }
  int64_t ImageElements() const {
    const int64_t pixels = plan.height * plan.width;
    return pixels * (shape.x == Element::kBits ? PixelElements() : shape.channels);
  }
  size_t ElementBytes() const { return shape.x == Element::kFloat16 ? 2 : 4; }

  // `count` pixels, `step` elements apart, from (image, y, x) on.
  Pixels At(int64_t image, int64_t y, int64_t x_, int64_t step, int64_t count) const {
    const int64_t first = image * ImageElements() + (y * plan.width + x_) * PixelElements();
    const int64_t channel_step = shape.x == Element::kBits ? 1 : plan.height * plan.width;
    return {static_cast<const uint8_t*>(x) + static_cast<size_t>(first) * ElementBytes(), step,
            channel_step, count};
  }
};

// One copy of the rows serves tap (ky, kx), or the taps that share it, as ky = 0 or kx = 0.
struct Copy {
  int64_t ky, kx, first_row;
};

void GatherImages(const Image& image, int64_t item, const Copy& copy, Rows rows) {
  const Shape& s = image.shape;
  const int64_t y = copy.ky * s.dilation_h - s.pad_top;
  const int64_t x = copy.kx * s.dilation_w - s.pad_left;
  const int64_t count = ItemImages(image.plan, item);
  const bool inside = y >= 0 && y < image.plan.height && x >= 0 && x < image.plan.width;
  if (!inside) return image.plan.variant->fill(s, rows, copy.first_row, count);
  const int64_t first_image = item * image.plan.images;
  image.plan.variant->expand(s, rows, copy.first_row,
                             image.At(first_image, y, x, image.ImageElements(), count));
}

void GatherLine(const Image& image, int64_t item, const Copy& copy, int64_t line, Rows rows) {
  const Shape& s = image.shape;
  const Plan& plan = image.plan;
  const int64_t y = (plan.split_y ? line * s.stride_h + copy.ky * s.dilation_h : line) - s.pad_top;
  const int64_t row = copy.first_row + line * plan.pitch;
  if (y < 0 || y >= plan.height) return plan.variant->fill(s, rows, row, plan.pitch);
  // Row i of the line is the pixel x = i * step + origin; rows begin ... end - 1 are inside.
  const int64_t step = plan.split_x ? s.stride_w : 1;
  const int64_t origin = (plan.split_x ? copy.kx * s.dilation_w : 0) - s.pad_left;
  const int64_t begin = std::clamp<int64_t>(origin < 0 ? CeilDiv(-origin, step) : 0, 0, plan.pitch);
  const int64_t end = std::clamp<int64_t>(
      origin < plan.width ? CeilDiv(plan.width - origin, step) : 0, begin, plan.pitch);
  if (begin > 0) plan.variant->fill(s, rows, row, begin);
  if (end > begin) {
    plan.variant->expand(
        s, rows, row + begin,
        image.At(item, y, begin * step + origin, step * image.PixelElements(), end - begin));
  }
  if (end < plan.pitch) plan.variant->fill(s, rows, row + end, plan.pitch - end);
}

}  // namespace

Rows ItemRows(const Shape& shape, const Plan& plan, const Call& call, int64_t item,
              uint8_t* scratch) {
  if (!plan.direct) return {scratch, plan.rows};
  const Image image{shape, plan, call.x};
  const auto* x = static_cast<const uint8_t*>(image.At(item * plan.images, 0, 0, 0, 0).x);
  return {const_cast<uint8_t*>(x), plan.rows};  // only expand and fill write rows
}

void Gather(const Shape& shape, const Plan& plan, const Call& call, int64_t item, int64_t part,
            int64_t parts, Rows rows) {
  if (plan.direct) return;
  const Image image{shape, plan, call.x};
  const int64_t copies_x = plan.split_x ? shape.kernel_w : 1;
  const int64_t copies_y = plan.split_y ? shape.kernel_h : 1;
  const int64_t lines = copies_y * copies_x * plan.lines;
  for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i) {
    const int64_t index = i / plan.lines;
    const Copy copy{index / copies_x, index % copies_x, index * plan.lines * plan.pitch};
    if (plan.out_h * plan.out_w == 1) {
      GatherImages(image, item, copy, rows);
    } else {
      GatherLine(image, item, copy, i % plan.lines, rows);
    }
  }
}

}  // namespace bnn::product
