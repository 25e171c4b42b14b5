#include "ops/unpack_bits.h"

#include <string>

#include "base/bits.h"
#include "ops/definitions.h"
#include "ops/limits.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Type;

// Returns [N, channels, ...] for bits [N, ..., words].
Shape UnpackedShape(const Shape& bits, int64_t channels) {
  Shape unpacked = bits;
  for (size_t axis = 2; axis < bits.rank; ++axis) unpacked.CopyAxis(axis, bits, axis - 1);
  unpacked.dims[1] = channels;
  unpacked.names[1] = nullptr;
  return unpacked;
}

}  // namespace

UnpackBitsOp::UnpackBitsOp(const ort::Node& node) : channels_(node.Int("channels", 1, kMaxDepth)) {
  node.InputType(0, {Type::kUint32});
  node.CheckOutputType(0, Type::kFloat);
}

void UnpackBitsOp::Compute(const ort::Run& run) const {
  const ort::Tensor b = run.Input(0, Type::kUint32);
  const int64_t words = bits::WordCount(channels_);
  if (b.shape.rank < 2 || b.shape[b.shape.rank - 1] != words) {
    run.FailShape(0, b.shape,
                  "[N, ..., " + std::to_string(words) + "] (words of " + std::to_string(channels_) +
                      " channels)");
  }
  const Shape unpacked = UnpackedShape(b.shape, channels_);
  float* y = static_cast<float*>(run.Output(0, unpacked));
  if (unpacked.Count() > 0) Apply(run, b, y);
}

ort::OpDefinition DefineUnpackBits(ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type type;
    Shape shape;
    inference.Input(0, &type, &shape);
    const int64_t channels = inference.Int("channels", 1, kMaxDepth);
    inference.Output(0, Type::kFloat, shape.rank < 2 ? Shape() : UnpackedShape(shape, channels));
  };
  return {"UnpackBits", {"B"}, {"Y"}, infer, create};
}

}  // namespace bnn::ops
