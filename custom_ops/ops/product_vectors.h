// The inputs of a product that hold one value for all output channels or one per channel.
#ifndef BNN_OPS_PRODUCT_VECTORS_H_
#define BNN_OPS_PRODUCT_VECTORS_H_

#include <optional>
#include <utility>

#include "kernels/product/product.h"
#include "ops/channel_vector.h"
#include "ops/product_layout.h"

namespace bnn::ops {

class ProductVectors {
 public:
  ProductVectors(const ort::Node& node, const ProductInputs& inputs, WeightKind weights);

  // Throws unless every constant vector has one element or `channels`.
  void CheckConstants(int64_t channels) const;

  // Returns w_pos and w_neg if there are such inputs and both are constant.
  std::optional<std::pair<product::Vector, product::Vector>> ConstantScales(int64_t channels) const;

  // Fills the vectors of the epilogue.
  void Read(const ort::Run& run, int64_t channels, product::Epilogue* epilogue) const;

 private:
  ChannelVector scale_, bias_, slope_, shift_, threshold_;
  std::optional<ChannelVector> w_pos_, w_neg_;  // ternary weights only
};

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_VECTORS_H_
