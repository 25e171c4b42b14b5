// The four products as ONNX Runtime sees them.
#include <algorithm>

#include "ops/definitions.h"
#include "ops/pack_bits.h"
#include "ops/product_layout.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Type;

// Returns the shape of Y as far as it is known.
Shape InferredShape(ProductKind kind, WeightKind weights, const ort::Inference& inference, Shape x,
                    const Shape& w, bool bits) {
  Shape unknown = {-1, -1, -1, -1};
  unknown.rank = kind == ProductKind::kConv ? 4 : 2;
  if (x.rank != unknown.rank) x = unknown;
  unknown.CopyAxis(0, x, 0);
  if (std::any_of(w.dims, w.dims + w.rank, [](int64_t size) { return size < 0; })) return unknown;
  try {
    const ProductLayout layout(kind, weights, inference);
    return layout.OutputShape(x, layout.WithWeights(w), bits);
  } catch (const ort::Error&) {
    return unknown;  // the types must be stated all the same; creation says what is wrong
  }
}

template <ProductKind kind, WeightKind weights>
ort::OpDefinition DefineProduct(const char* name, ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type x_type, w_type, y_type;
    Shape x, w, residual;
    inference.Input(ProductInputs::kX, &x_type, &x);
    inference.Input(ProductInputs::kW, &w_type, &w);
    inference.Input(ProductInputs(weights).residual, &y_type, &residual);
    const Shape y = InferredShape(kind, weights, inference, x, w, x_type == Type::kUint32);
    inference.Output(0, y_type, y);
    inference.Output(1, Type::kUint32, PackedShape(y));
  };
  ort::OpDefinition definition = {name, {"X", "W"}, {"Y", "Ybits"}, infer, create};
  auto& inputs = definition.inputs;
  if (weights == WeightKind::kTernary) inputs.insert(inputs.end(), {"w_pos", "w_neg"});
  inputs.insert(inputs.end(), {"scale", "bias", "residual", "slope", "shift", "threshold"});
  return definition;
}

}  // namespace

ort::OpDefinition DefineXnorGemm(ort::Creator create) {
  return DefineProduct<ProductKind::kGemm, WeightKind::kBinary>("XnorGemm", create);
}

ort::OpDefinition DefineXnorConv(ort::Creator create) {
  return DefineProduct<ProductKind::kConv, WeightKind::kBinary>("XnorConv", create);
}

ort::OpDefinition DefineTernaryGemm(ort::Creator create) {
  return DefineProduct<ProductKind::kGemm, WeightKind::kTernary>("TernaryGemm", create);
}

ort::OpDefinition DefineTernaryConv(ort::Creator create) {
  return DefineProduct<ProductKind::kConv, WeightKind::kTernary>("TernaryConv", create);
}

}  // namespace bnn::ops
