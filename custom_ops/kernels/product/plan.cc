// How a call is cut: geometry of the gathered rows, units of work, scratch memory.
#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "kernels/product/variant.h"

namespace bnn::product {
namespace {

constexpr size_t kItemBytes = size_t{1} << 20;  // rows of a block of images: half of a usual L2
constexpr int64_t kUnitsPerThread = 4;          // so that threads which are late can be relieved
constexpr double kUnitCodes = 1 << 19;          // products below which a second unit costs more
constexpr int64_t kLineGrain = 8;               // floats of half a cache line
constexpr int64_t kSlackRows = 16;              // a tile of rows may read past the last position

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// An output of 1 x 1: images side by side, one copy of the rows for every tap.
void LayOutImages(const Shape& s, Plan* plan) {
  const size_t image_bytes = static_cast<size_t>(Taps(s) * plan->variant->row_bytes(s));
  const int64_t grain = plan->variant->position_grain;
  const int64_t fit = static_cast<int64_t>(kItemBytes / image_bytes) / grain * grain;
  plan->images = std::min(plan->batch, std::max(fit, grain));
  plan->items = CeilDiv(plan->batch, plan->images);
  plan->split_y = plan->split_x = true;
  plan->lines = 1;
  plan->pitch = plan->valid = plan->positions = plan->images;
}

// Lines of an image. Rows are shared between the kx of a line when that wastes few positions at
// the end of each line, and between the ky when lines follow each other.
void LayOutLines(const Shape& s, Plan* plan) {
  const int64_t shared = plan->out_w + (s.kernel_w - 1) * s.dilation_w;
  plan->items = plan->batch;
  plan->images = 1;
  plan->split_y = s.stride_h != 1;
  const bool whole = plan->variant->whole_lines != nullptr && plan->variant->whole_lines(s) &&
                     plan->out_w % kLineGrain == 0;
  plan->split_x = s.stride_w != 1 || shared * 2 > plan->out_w * 3 || whole;
  plan->lines = plan->split_y ? plan->out_h : plan->out_h + (s.kernel_h - 1) * s.dilation_h;
  plan->pitch = plan->split_x ? plan->out_w : shared;
  plan->valid = plan->out_w;
  plan->positions = (plan->out_h - 1) * plan->pitch + plan->out_w;
}

// X itself as rows: no border, no stride, no copy.
void LayOutDirect(const Shape& s, Plan* plan) {
  if (Taps(s) == 1 && plan->height == 1 && plan->width == 1) return;  // images are rows already
  plan->split_y = plan->split_x = false;
  plan->lines = plan->height;
  plan->pitch = plan->width;
  plan->positions = (plan->out_h - 1) * plan->pitch + plan->out_w;
}

bool CanBeDirect(const Shape& s, const Plan& plan) {
  if (!plan.variant->direct(s) || s.stride_h != 1 || s.stride_w != 1) return false;
  if (s.pad_top != 0 || s.pad_left != 0 || s.pad_bottom != 0 || s.pad_right != 0) return false;
  if (s.x != Element::kBits && plan.height * plan.width != 1) return false;  // channels lie apart
  const bool one_output = plan.out_h * plan.out_w == 1;
  return one_output ? Taps(s) == 1 : plan.width * 8 <= plan.out_w * 9;
}

// No rows at all: outputs follow each other.
void LayOutOutputs(Plan* plan) {
  plan->direct = true;
  if (plan->out_h * plan->out_w == 1) return;  // images already do
  plan->pitch = plan->valid;
  plan->positions = plan->out_h * plan->out_w;
}

void LayOut(const Shape& s, Plan* plan) {
  if (plan->out_h * plan->out_w == 1) {
    LayOutImages(s, plan);
  } else {
    LayOutLines(s, plan);
  }
  if (ReadsImages(s, *plan->variant)) return LayOutOutputs(plan);
  plan->direct = CanBeDirect(s, *plan);
  if (plan->direct) LayOutDirect(s, plan);
  const int64_t copy = plan->lines * plan->pitch;
  const int64_t copies_x = plan->split_x ? s.kernel_w : 1;
  const int64_t copies_y = plan->split_y ? s.kernel_h : 1;
  plan->tap_step_x = plan->split_x ? copy : s.dilation_w;
  plan->tap_step_y = plan->split_y ? copies_x * copy : s.dilation_h * plan->pitch;
  plan->rows = copies_x * copies_y * copy + (plan->direct ? 0 : kSlackRows);
  plan->rows_bytes =
      plan->direct ? 0 : Aligned(static_cast<size_t>(plan->rows * plan->variant->row_bytes(s)));
}

// Whole items a unit while there are enough of them: then rows stay in the cache of one core.
// Else all rows are gathered first and a unit takes some strips, then some positions.
void Divide(const Shape& s, int threads, Plan* plan) {
  const double codes = static_cast<double>(plan->batch) * static_cast<double>(plan->out_h) *
                       static_cast<double>(plan->out_w) * static_cast<double>(s.out_channels) *
                       static_cast<double>(Taps(s) * GroupChannels(s));
  const int64_t worth = static_cast<int64_t>(std::min(codes / kUnitCodes, 1e6));
  const int64_t most =
      threads <= 1 ? 1 : std::max<int64_t>(1, std::min(threads * kUnitsPerThread, worth));
  plan->unit_bytes = Aligned(plan->variant->unit_bytes(s));
  plan->whole_items = most == 1 || plan->items >= threads;
  if (plan->whole_items) {
    plan->phases = 1;
    plan->units[0] = std::min(plan->items, most);
    plan->scratch_bytes =
        static_cast<size_t>(plan->units[0]) * (plan->rows_bytes + plan->unit_bytes);
    return;
  }
  const int64_t per_item = CeilDiv(most, plan->items);
  // Who reads images gathers them for its strips: every further part of strips gathers again.
  const bool may_cut_strips = StripsOwnWords(s) && !ReadsImages(s, *plan->variant);
  plan->strip_parts = may_cut_strips ? std::min(Strips(s), per_item) : 1;
  plan->position_parts = std::min(CeilDiv(plan->positions, plan->variant->position_grain),
                                  CeilDiv(per_item, plan->strip_parts));
  const int64_t multiply = plan->items * plan->strip_parts * plan->position_parts;
  plan->phases = plan->direct ? 1 : 2;
  plan->units[plan->phases - 1] = multiply;
  if (!plan->direct) plan->units[0] = std::max(plan->items, std::min<int64_t>(threads, most));
  plan->scratch_bytes = static_cast<size_t>(plan->items) * plan->rows_bytes +
                        static_cast<size_t>(multiply) * plan->unit_bytes;
}

}  // namespace

int64_t OutputExtent(int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t pad_begin, int64_t pad_end) {
  const int64_t free = input + pad_begin + pad_end - ((kernel - 1) * dilation + 1);
  return free < 0 ? 0 : free / stride + 1;
}

bool EqualScales(Vector w_pos, Vector w_neg, int64_t out_channels) {
  constexpr int kMaxExponent = 64;  // 2^24 * 2^64 and its inverse are far from the ends of float
  const int64_t count = w_pos.stride == 0 && w_neg.stride == 0 ? 1 : out_channels;
  for (int64_t o = 0; o < count; ++o) {
    const float value = w_pos.data[o * w_pos.stride];
    if (!(value == w_neg.data[o * w_neg.stride])) return false;
    int exponent;
    const float mantissa = std::frexp(value, &exponent);
    if (std::fabs(mantissa) != 0.5f || std::abs(exponent) > kMaxExponent) return false;
  }
  return true;
}

Plan Product::PlanCall(int64_t batch, int64_t height, int64_t width, int threads) const {
  const Shape& s = shape_;
  Plan plan;
  plan.batch = batch;
  plan.height = height;
  plan.width = width;
  plan.out_h = OutputExtent(height, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.pad_bottom);
  plan.out_w = OutputExtent(width, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.pad_right);
  if (batch == 0 || plan.out_h == 0 || plan.out_w == 0) return plan;
  const bool few = few_ != nullptr && batch * plan.out_h * plan.out_w <= few_positions_;
  plan.variant = few ? few_ : many_;
  plan.packed_offset = few ? FewOffset() : 0;
  LayOut(s, &plan);
  Divide(s, threads, &plan);
  return plan;
}

const char* VariantName(const Plan& plan) {
  return plan.variant == nullptr ? "none" : plan.variant->name;
}

}  // namespace bnn::product
