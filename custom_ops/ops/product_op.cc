#include "ops/product_op.h"

#include <string>

#include "ops/pack_bits.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Tensor;
using ort::Type;
using product::Element;

constexpr size_t kY = 0, kYbits = 1;

Element ElementOf(Type type) {
  if (type == Type::kUint32) return Element::kBits;
  return type == Type::kFloat ? Element::kFloat32 : Element::kFloat16;
}

// Returns the type of residual and Y, which is also the type of a float X.
Type OutputType(const ort::Node& node, size_t residual, Type x) {
  if (x != Type::kUint32) return node.InputType(residual, {x});
  return node.InputType(residual, {Type::kFloat, Type::kFloat16});
}

void CheckMap(const ort::Run& run, const Shape& x, const Shape& y, const product::Shape& geometry) {
  if (y.rank == 2 || (y[2] > 0 && y[3] > 0)) return;
  run.FailShape(ProductInputs::kX, x,
                "a padded map that holds the dilated " + std::to_string(geometry.kernel_h) + " x " +
                    std::to_string(geometry.kernel_w) + " kernel");
}

}  // namespace

ProductOp::ProductOp(ProductKind kind, WeightKind weights, const ort::Node& node)
    : layout_(kind, weights, node),
      inputs_(weights),
      x_type_(node.InputType(ProductInputs::kX, {Type::kUint32, Type::kFloat, Type::kFloat16})),
      y_type_(OutputType(node, inputs_.residual, x_type_)),
      wants_y_(node.Wants(kY)),
      wants_ybits_(node.Wants(kYbits)),
      vectors_(node, inputs_, weights),
      constant_residual_(node.ConstantInput(inputs_.residual)) {
  if (bits()) layout_.CheckGroupsOfBits();
  node.InputType(ProductInputs::kW, {Type::kUint32});
  node.CheckOutputType(kY, y_type_);
  node.CheckOutputType(kYbits, Type::kUint32);
}

product::Shape ProductOp::ShapeFor(const Shape& w) const {
  product::Shape shape = layout_.WithWeights(w);
  shape.x = ElementOf(x_type_);
  shape.y = ElementOf(y_type_);
  return shape;
}

ProductOp::Arguments ProductOp::Prepare(const ort::Run& run, const product::Shape& shape) const {
  const Tensor x = run.Input(ProductInputs::kX, x_type_);
  layout_.CheckInput(x.shape, bits());
  const Shape y_shape = layout_.OutputShape(x.shape, shape, bits());
  CheckMap(run, x.shape, y_shape, shape);
  Arguments arguments = {};
  arguments.x = x.data;
  arguments.batch = x.shape[0];
  arguments.height = y_shape.rank == 4 ? x.shape[bits() ? 1 : 2] : 1;
  arguments.width = y_shape.rank == 4 ? x.shape[bits() ? 2 : 3] : 1;
  arguments.epilogue.acc_min = layout_.acc_min();
  vectors_.Read(run, shape.out_channels, &arguments.epilogue);
  ReadResidual(run, y_shape, &arguments.epilogue);
  if (wants_y_) arguments.y = run.Output(kY, y_shape);
  if (wants_ybits_) {
    arguments.ybits = static_cast<uint32_t*>(run.Output(kYbits, PackedShape(y_shape)));
  }
  return arguments;
}

void ProductOp::ReadResidual(const ort::Run& run, const Shape& y,
                             product::Epilogue* epilogue) const {
  const Tensor residual =
      constant_residual_ ? *constant_residual_ : run.Input(inputs_.residual, y_type_);
  const bool one = residual.shape.Count() == 1;
  if (!one && residual.shape != y) {
    run.FailShape(inputs_.residual, residual.shape, "one element or " + ToString(y));
  }
  epilogue->residual = residual.data;
  epilogue->residual_stride = one ? 0 : 1;
}

}  // namespace bnn::ops
