#include "ops/product_op.h"

namespace bnn::ops {

const ort::OpDefinition& XnorConv() {
  static const ort::OpDefinition definition = {
      "XnorConv",
      {"X", "W", "scale", "bias", "residual", "slope", "shift", "threshold"},
      {"Y", "Ybits"},
      [](const ort::Inference& inference) {
        InferProduct(ProductKind::kConv, WeightKind::kBinary, inference);
      },
      [](const ort::Node& node) {
        return CreateProduct(ProductKind::kConv, WeightKind::kBinary, node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
