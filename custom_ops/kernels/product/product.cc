// Choice of a variant, packing, and the run of one unit.
#include "kernels/product/product.h"

#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "kernels/product/gather.h"
#include "kernels/product/variant.h"

namespace bnn::product {
namespace {

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Range {
  int64_t begin, end;
};

// Part `index` of `parts` nearly equal parts of [0, count), each beginning at a multiple of grain.
Range Part(int64_t count, int64_t grain, int64_t index, int64_t parts) {
  const int64_t grains = (count + grain - 1) / grain;
  return {std::min(count, grains * index / parts * grain),
          std::min(count, grains * (index + 1) / parts * grain)};
}

// More positions than any variant needs to be at its best.
constexpr int64_t kManyPositions = 512;

// Returns what the cost model expects of a call.
double Nanoseconds(const Variant& variant, const Shape& s, int64_t positions) {
  const Cost& cost = variant.cost;
  const double words = static_cast<double>(GroupWords(s)), strips = static_cast<double>(Strips(s));
  const double filter = variant.cost_words != nullptr
                            ? variant.cost_words(s)
                            : strips * words * static_cast<double>(Taps(s) * Planes(s));
  const int64_t tiles = (positions + cost.tile - 1) / cost.tile;
  const double count = static_cast<double>(positions);
  return cost.call + filter * cost.strip_word +
         filter * cost.position_word * static_cast<double>(tiles * cost.tile) +
         count *
             (words * static_cast<double>(s.group) * cost.gather_word + strips * cost.strip_output);
}

// Returns the best variant that `isa` allows; the scalar ones fit every shape.
const Variant* Cheapest(const Shape& shape, uint32_t isa, int64_t positions) {
  const Variant* best = nullptr;
  double best_cost = 0.0;
  const auto consider = [&](uint32_t needed, const Variant& variant) {
    if (!cpu::Has(needed, isa) || !variant.fits(shape)) return;
    const double cost = Nanoseconds(variant, shape, positions);
    if (best != nullptr && cost >= best_cost) return;
    best = &variant;
    best_cost = cost;
  };
#define BNN_KERNEL(needed, variant) consider(needed, variant);
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL
  return best;
}

// Strips that share words of Ybits OR their bits into them.
void ClearSharedWords(const Block& b) {
  if (StripsOwnWords(*b.shape) || b.call->ybits == nullptr) return;
  const int64_t words = bits::WordCount(b.shape->out_channels);
  const Plan& plan = *b.plan;
  for (int64_t p = b.position_begin; p < b.position_end; ++p) {
    if (p % plan.pitch >= plan.valid) continue;
    std::memset(b.call->ybits + OutputPosition(b, p) * words, 0,
                static_cast<size_t>(words) * sizeof(uint32_t));
  }
}

void Multiply(const Block& b) {
  if (b.position_begin >= b.position_end || b.strip_begin >= b.strip_end) return;
  ClearSharedWords(b);
  b.plan->variant->multiply(b);
}

}  // namespace

Product Product::Select(const Shape& shape, uint32_t isa) {
  Product product;
  product.shape_ = shape;
  product.many_ = Cheapest(shape, isa, kManyPositions);
  const Variant* few = Cheapest(shape, isa, 1);
  if (few == product.many_) return product;
  product.few_ = few;
  for (int64_t p = 1; p < kManyPositions; ++p) {
    if (Nanoseconds(*few, shape, p) < Nanoseconds(*product.many_, shape, p)) {
      product.few_positions_ = p;
    }
  }
  return product;
}

Product Product::Only(const Shape& shape, const Variant& variant) {
  Product product;
  product.shape_ = shape;
  product.many_ = &variant;
  return product;
}

const char* Product::name() const { return many_->name; }

const char* Product::few_name() const { return few_ == nullptr ? "" : few_->name; }

size_t Product::FewOffset() const {
  const auto packs_words = [&](const Variant& variant) {
    return variant.packs_words != nullptr && variant.packs_words(shape_);
  };
  if (packs_words(*many_) && packs_words(*few_)) return 0;
  return Aligned(many_->packed_bytes(shape_));
}

size_t Product::packed_bytes() const {
  const size_t many = Aligned(many_->packed_bytes(shape_));
  if (few_ == nullptr) return many;
  return std::max(many, FewOffset() + Aligned(few_->packed_bytes(shape_)));
}

void Product::Pack(const uint32_t* words, void* packed) const {
  auto* bytes = static_cast<uint8_t*>(packed);
  many_->pack(shape_, words, bytes);
  if (few_ != nullptr && FewOffset() > 0) few_->pack(shape_, words, bytes + FewOffset());
}

void Product::Run(const Plan& plan, const Call& call, int phase, int64_t unit) const {
  auto* scratch = static_cast<uint8_t*>(call.scratch);
  const auto* packed = static_cast<const uint8_t*>(call.packed) + plan.packed_offset;
  Block b{&shape_, &plan, &call, packed, {}, nullptr, 0, 0, 0, 0, Strips(shape_)};
  if (plan.whole_items) {
    scratch += static_cast<size_t>(unit) * (plan.rows_bytes + plan.unit_bytes);
    b.scratch = scratch + plan.rows_bytes;
    const Range items = Part(plan.items, 1, unit, plan.units[0]);
    for (b.item = items.begin; b.item < items.end; ++b.item) {
      b.rows = ItemRows(shape_, plan, call, b.item, scratch);
      Gather(shape_, plan, call, b.item, 0, 1, b.rows);
      b.position_end = ItemPositions(plan, b.item);
      Multiply(b);
    }
    return;
  }
  if (phase + 1 < plan.phases) {
    const int64_t parts = (plan.units[0] + plan.items - 1) / plan.items;
    for (int64_t part = unit; part < parts * plan.items; part += plan.units[0]) {
      const int64_t item = part / parts;
      uint8_t* rows = scratch + static_cast<size_t>(item) * plan.rows_bytes;
      Gather(shape_, plan, call, item, part % parts, parts,
             ItemRows(shape_, plan, call, item, rows));
    }
    return;
  }
  b.item = unit / (plan.strip_parts * plan.position_parts);
  b.rows =
      ItemRows(shape_, plan, call, b.item, scratch + static_cast<size_t>(b.item) * plan.rows_bytes);
  b.scratch = scratch + static_cast<size_t>(plan.items) * plan.rows_bytes +
              static_cast<size_t>(unit) * plan.unit_bytes;
  const int64_t position_part = unit / plan.strip_parts % plan.position_parts;
  const Range positions = Part(ItemPositions(plan, b.item), plan.variant->position_grain,
                               position_part, plan.position_parts);
  const Range strips = Part(Strips(shape_), 1, unit % plan.strip_parts, plan.strip_parts);
  b.position_begin = positions.begin;
  b.position_end = positions.end;
  b.strip_begin = strips.begin;
  b.strip_end = strips.end;
  Multiply(b);
}

}  // namespace bnn::product
