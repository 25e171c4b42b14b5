#include "ops/pack_bits.h"

#include "base/bits.h"
#include "ops/definitions.h"

namespace bnn::ops {

using ort::Shape;
using ort::Type;

Shape PackedShape(const Shape& x) {
  Shape packed = x;
  for (size_t axis = 2; axis < x.rank; ++axis) packed.CopyAxis(axis - 1, x, axis);
  packed.dims[x.rank - 1] = x[1] < 0 ? -1 : bits::WordCount(x[1]);
  packed.names[x.rank - 1] = nullptr;
  return packed;
}

PackBitsOp::PackBitsOp(const ort::Node& node)
    : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})),
      sign_(node, 1),
      threshold_(node, 2) {
  node.CheckOutputType(0, Type::kUint32);
}

void PackBitsOp::Compute(const ort::Run& run) const {
  const ort::Tensor x = run.Input(0, type_);
  if (x.shape.rank < 2) run.FailShape(0, x.shape, "[N, C, ...]");
  const product::Vector sign = sign_.Read(run, x.shape[1]);
  const product::Vector threshold = threshold_.Read(run, x.shape[1]);
  const Shape packed = PackedShape(x.shape);
  uint32_t* bits = static_cast<uint32_t*>(run.Output(0, packed));
  if (packed.Count() > 0) Apply(run, x, sign, threshold, bits);
}

ort::OpDefinition DefinePackBits(ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type type;
    Shape shape;
    inference.Input(0, &type, &shape);
    inference.Output(0, Type::kUint32, shape.rank < 2 ? Shape() : PackedShape(shape));
  };
  return {"PackBits", {"X", "sign", "threshold"}, {"B"}, infer, create};
}

}  // namespace bnn::ops
