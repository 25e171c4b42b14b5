#include "ops/product_op.h"

namespace bnn::ops {

const ort::OpDefinition& TernaryConv() {
  static const ort::OpDefinition definition = {
      "TernaryConv",
      {"X", "W", "w_pos", "w_neg", "scale", "bias", "residual", "slope", "shift", "threshold"},
      {"Y", "Ybits"},
      [](const ort::Inference& inference) {
        InferProduct(ProductKind::kConv, WeightKind::kTernary, inference);
      },
      [](const ort::Node& node) {
        return CreateProduct(ProductKind::kConv, WeightKind::kTernary, node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
