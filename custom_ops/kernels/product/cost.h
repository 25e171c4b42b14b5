// The cost model that chooses between variants.
#ifndef BNN_KERNELS_PRODUCT_COST_H_
#define BNN_KERNELS_PRODUCT_COST_H_

#include <cstdint>

namespace bnn::product {

// Nanoseconds of one core, fitted by benchmarks/costs.py to measured calls; only their ratios
// matter. A word is 32 codes of a filter or of a pixel, a strip 32 output channels.
struct Cost {
  int64_t tile;          // positions are computed in multiples of it
  double call;           // whatever the size
  double strip_word;     // per word of the filters of a strip: unpacking weights
  double position_word;  // and per position: the product itself
  double gather_word;    // per word of a gathered pixel
  double strip_output;   // per strip and position: the epilogue
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_COST_H_
