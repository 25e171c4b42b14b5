// What the constant weights of a product must be.
#ifndef BNN_OPS_PRODUCT_WEIGHTS_H_
#define BNN_OPS_PRODUCT_WEIGHTS_H_

#include <cstdint>

#include "kernels/product/product.h"

namespace bnn::ops {

// Throws "input W: ..." if a pad bit is set, or a ternary code is both +1 and -1.
void CheckWeights(const product::Shape& shape, const uint32_t* words);

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_WEIGHTS_H_
