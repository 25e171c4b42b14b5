#include "ops/ternary.h"

#include "ops/definitions.h"

namespace bnn::ops {

using ort::Type;

TernaryOp::TernaryOp(const ort::Node& node)
    : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})), threshold_(node, 1) {
  node.CheckOutputType(0, type_);
}

void TernaryOp::Compute(const ort::Run& run) const {
  const ort::Tensor x = run.Input(0, type_);
  if (x.shape.rank < 2) run.FailShape(0, x.shape, "[N, C, ...]");
  const product::Vector threshold = threshold_.Read(run, x.shape[1]);
  void* y = run.Output(0, x.shape);
  if (x.shape.Count() > 0) Apply(run, x, threshold, y);
}

ort::OpDefinition DefineTernary(ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type type;
    ort::Shape shape;
    inference.Input(0, &type, &shape);
    // Rank 0 also stands for a rank that is not known.
    if (shape.rank > 0) inference.Output(0, type, shape);
  };
  return {"Ternary", {"X", "threshold"}, {"Y"}, infer, create};
}

}  // namespace bnn::ops
