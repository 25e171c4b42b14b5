// One product with random operands, and how long a variant takes for it.
#ifndef BNN_BENCHMARKS_PROBLEM_H_
#define BNN_BENCHMARKS_PROBLEM_H_

#include <string>

#include "kernels/product/product.h"
#include "kernels/product/variant.h"

namespace bnn::product {

enum class Wanted { kBits, kFloatsAndResidual };

struct Problem {
  std::string name;
  Shape shape;
  int64_t batch, height, width;
  Wanted wanted;

  double Macs() const {
    const int64_t h = OutputExtent(height, shape.kernel_h, 1, 1, shape.pad_top, shape.pad_bottom);
    const int64_t w = OutputExtent(width, shape.kernel_w, 1, 1, shape.pad_left, shape.pad_right);
    return static_cast<double>(batch * h * w * shape.out_channels * Taps(shape)) *
           static_cast<double>(shape.channels);
  }
  int64_t Outputs() const { return batch * height * width * shape.out_channels; }
};

// Median and best seconds of one call.
struct Time {
  double median, best;
};

// Calls `product` on one thread for `seconds`.
Time Run(const Problem& problem, const Product& product, double seconds);

}  // namespace bnn::product

#endif  // BNN_BENCHMARKS_PROBLEM_H_
