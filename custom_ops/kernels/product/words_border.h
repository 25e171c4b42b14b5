// Totals of one strip as the positions of a map need them (words.h says what a total is). At the
// border of a map with pad_value 0 they hold what the taps outside the image, whose rows hold -1,
// take away. Positions of one side or corner mostly share them, so a few sets serve a map.
#ifndef BNN_KERNELS_PRODUCT_WORDS_BORDER_H_
#define BNN_KERNELS_PRODUCT_WORDS_BORDER_H_

#include "kernels/product/words.h"

namespace bnn::product::words {
namespace {

template <int kSums>
class BorderTotals {
 public:
  static constexpr int64_t kTogether = 4;

  struct Set {
    int32_t totals[kSums * kStrip];
    int64_t most[kStrip];  // a count of at most so many is a sum that reaches the threshold
    int64_t line, column;  // that the set is for; kShared along the interior
  };

  explicit BorderTotals(const Block& b)
      : b_(b),
        interior_(FindInterior(*b.shape, *b.plan)),
        images_(b.plan->out_h * b.plan->out_w == 1) {}

  // Begins a strip. `least` holds its kStrip thresholds, if counts are to be compared.
  void Bind(const int32_t* header, const int32_t* least) {
    header_ = header;
    least_ = least;
    for (Set& set : sets_) set.line = kUnknown;
  }

  // The sets of kTogether neighbouring columns are there at the same time.
  const Set& At(int64_t line, int64_t column) {
    if (images_) column = 0;  // images side by side have their one output in common
    const int row = Side(line, interior_.line_begin, interior_.line_end);
    const int side = Side(column, interior_.column_begin, interior_.column_end);
    const int64_t slot = side == kInside ? 0 : 1 + column % kTogether;
    Set& set = sets_[row * (1 + kTogether) + slot];
    const int64_t own_line = row == kInside ? kShared : line;
    const int64_t own_column = side == kInside ? kShared : column;
    if (set.line != own_line || set.column != own_column) {
      set.line = own_line;
      set.column = own_column;
      Fill(line, column, row == kInside && side == kInside, &set);
    }
    return set;
  }

 private:
  static constexpr int kInside = 1;
  static constexpr int64_t kShared = -1, kUnknown = -2;

  static int Side(int64_t at, int64_t begin, int64_t end) {
    return at < begin ? 0 : at < end ? kInside : 2;
  }

  void Fill(int64_t line, int64_t column, bool interior, Set* set) const {
    for (int64_t i = 0; i < kSums * kStrip; ++i) set->totals[i] = header_[i];
    if (!interior) AddOutsideTaps(line, column, set->totals);
    if (least_ == nullptr) return;
    for (int64_t i = 0; i < kStrip; ++i) {
      set->most[i] = (static_cast<int64_t>(set->totals[i]) - least_[i]) >> 1;
    }
  }

  void AddOutsideTaps(int64_t line, int64_t column, int32_t* totals) const {
    const Shape& s = *b_.shape;
    const int64_t top = line * s.stride_h - s.pad_top, left = column * s.stride_w - s.pad_left;
    const int32_t* tap_sums = header_ + kSums * kStrip;
    for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
      const int64_t y = top + ky * s.dilation_h;
      for (int64_t kx = 0; kx < s.kernel_w; ++kx, tap_sums += kSums * kStrip) {
        const int64_t x = left + kx * s.dilation_w;
        if (y >= 0 && y < b_.plan->height && x >= 0 && x < b_.plan->width) continue;
        for (int64_t i = 0; i < kSums * kStrip; ++i) totals[i] += tap_sums[i];
      }
    }
  }

  const Block& b_;
  const Interior interior_;
  const bool images_;
  const int32_t* header_ = nullptr;
  const int32_t* least_ = nullptr;
  alignas(64) Set sets_[3 * (1 + kTogether)];
};

}  // namespace
}  // namespace bnn::product::words

#endif  // BNN_KERNELS_PRODUCT_WORDS_BORDER_H_
