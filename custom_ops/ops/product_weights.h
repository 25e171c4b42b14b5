// The weights of a product: checked, and packed the way the chosen kernel wants them.
#ifndef BNN_OPS_PRODUCT_WEIGHTS_H_
#define BNN_OPS_PRODUCT_WEIGHTS_H_

#include <cstdint>
#include <memory>

#include "kernels/product/product.h"
#include "ort/tensor.h"

namespace bnn::ops {

// Throws "input W: ..." if a pad bit is set, or a ternary code is both +1 and -1.
void CheckWeights(const product::Shape& shape, const uint32_t* words);

// Constant weights, packed once.
class PackedWeights {
 public:
  PackedWeights(const product::Product& product, const uint32_t* words);

  const void* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_WEIGHTS_H_
