#include "ops/product_op.h"

namespace bnn::ops {

const ort::OpDefinition& TernaryGemm() {
  static const ort::OpDefinition definition = {
      "TernaryGemm",
      {"X", "W", "w_pos", "w_neg", "scale", "bias", "residual", "slope", "shift", "threshold"},
      {"Y", "Ybits"},
      [](const ort::Inference& inference) {
        InferProduct(ProductKind::kGemm, WeightKind::kTernary, inference);
      },
      [](const ort::Node& node) {
        return CreateProduct(ProductKind::kGemm, WeightKind::kTernary, node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
