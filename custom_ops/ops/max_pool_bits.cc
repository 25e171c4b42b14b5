#include "ops/max_pool_bits.h"

#include <string>

#include "ops/definitions.h"
#include "ops/limits.h"

namespace bnn::ops {

using ort::Shape;
using ort::Type;

PoolWindow::PoolWindow(const ort::Attributes& attributes)
    : kernel(attributes.Ints<2>("kernel_shape", 1, kMaxExtent)),
      strides(attributes.Ints<2>("strides", 1, kMaxExtent)),
      pads(attributes.Ints<4>("pads", 0, kMaxExtent)) {}

int64_t PoolWindow::Extent(size_t axis, int64_t size) const {
  const int64_t room = size + pads[axis] + pads[axis + 2] - kernel[axis];
  return room < 0 ? 0 : room / strides[axis] + 1;
}

MaxPoolBitsOp::MaxPoolBitsOp(const ort::Node& node) : window_(node) {
  node.InputType(0, {Type::kUint32});
  node.InputType(1, {Type::kUint32});
  node.CheckOutputType(0, Type::kUint32);
}

void MaxPoolBitsOp::Compute(const ort::Run& run) const {
  const ort::Tensor b = run.Input(0, Type::kUint32);
  const ort::Tensor invert = run.Input(1, Type::kUint32);
  if (b.shape.rank != 4) run.FailShape(0, b.shape, "[N, H, W, Cw]");
  const int64_t words = b.shape[3];
  if (invert.shape != Shape{words}) {
    run.FailShape(1, invert.shape, "[" + std::to_string(words) + "]");
  }
  const Shape pooled = {b.shape[0], window_.Extent(0, b.shape[1]), window_.Extent(1, b.shape[2]),
                        words};
  if (pooled[1] == 0 || pooled[2] == 0) {
    run.FailShape(0, b.shape,
                  "a padded map of at least " + std::to_string(window_.kernel[0]) + " x " +
                      std::to_string(window_.kernel[1]) + " pixels (kernel_shape)");
  }
  uint32_t* y = static_cast<uint32_t*>(run.Output(0, pooled));
  if (pooled.Count() > 0) Apply(run, b, invert.words(), pooled, y);
}

MaxPoolBitsShape MaxPoolBitsOp::PoolShape(const Shape& b, const Shape& pooled) const {
  return {b[1],
          b[2],
          b[3],
          window_.kernel[0],
          window_.kernel[1],
          window_.strides[0],
          window_.strides[1],
          window_.pads[0],
          window_.pads[1],
          pooled[2]};
}

ort::OpDefinition DefineMaxPoolBits(ort::Creator create) {
  const auto infer = [](const ort::Inference& inference) {
    Type type;
    Shape b;
    inference.Input(0, &type, &b);
    const PoolWindow window(inference);
    Shape pooled = {-1, -1, -1, -1};
    if (b.rank == 4) {
      pooled.CopyAxis(0, b, 0);
      pooled.CopyAxis(3, b, 3);
      for (size_t axis : {0, 1}) {
        if (b[axis + 1] >= 0) pooled.dims[axis + 1] = window.Extent(axis, b[axis + 1]);
      }
    }
    inference.Output(0, Type::kUint32, pooled);
  };
  return {"MaxPoolBits", {"B", "invert"}, {"Y"}, infer, create};
}

}  // namespace bnn::ops
