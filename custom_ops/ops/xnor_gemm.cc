#include "ops/product_op.h"

namespace bnn::ops {

const ort::OpDefinition& XnorGemm() {
  static const ort::OpDefinition definition = {
      "XnorGemm",
      {"X", "W", "scale", "bias", "residual", "slope", "shift", "threshold"},
      {"Y", "Ybits"},
      [](const ort::Inference& inference) {
        InferProduct(ProductKind::kGemm, WeightKind::kBinary, inference);
      },
      [](const ort::Node& node) {
        return CreateProduct(ProductKind::kGemm, WeightKind::kBinary, node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
