#include "ops/sign.h"

#include "ops/definitions.h"

namespace bnn::ops {

using ort::Type;

SignOp::SignOp(const ort::Node& node) : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})) {
  node.CheckOutputType(0, type_);
}

void SignOp::Compute(const ort::Run& run) const {
  const ort::Tensor x = run.Input(0, type_);
  void* y = run.Output(0, x.shape);
  if (x.shape.Count() > 0) Apply(run, x, y);
}

ort::OpDefinition DefineSign(ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type type;
    ort::Shape shape;
    inference.Input(0, &type, &shape);
    // Rank 0 also stands for a rank that is not known.
    if (shape.rank > 0) inference.Output(0, type, shape);
  };
  return {"Sign", {"X"}, {"Y"}, infer, create};
}

}  // namespace bnn::ops
