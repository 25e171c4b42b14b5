#include "ops/product_op.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "ops/created.h"
#include "ops/product_vectors.h"
#include "ops/product_weights.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Tensor;
using ort::Type;
using product::Element;
using product::Product;

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

// ONNX Runtime does not tell the size of the session's pool; it is at most the machine's.
int ThreadsAtMost() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

struct ConstantWeights {
  Product product;
  PackedWeights packed;
};

class ProductOp : public ort::Kernel {
 public:
  ProductOp(ProductKind kind, WeightKind weights, const ort::Node& node)
      : layout_(kind, weights, node),
        inputs_(weights),
        x_type_(node.InputType(ProductInputs::kX, {Type::kUint32, Type::kFloat, Type::kFloat16})),
        y_type_(OutputType(node, inputs_.residual, x_type_)),
        name_(node.name()),
        isa_(node.isa()),
        threads_(ThreadsAtMost()),
        wants_y_(node.Wants(kY)),
        wants_ybits_(node.Wants(kYbits)),
        allocator_(node.allocator()),
        vectors_(node, inputs_, weights),
        constant_residual_(node.ConstantInput(inputs_.residual)) {
    if (bits()) layout_.CheckGroupsOfBits();
    node.InputType(ProductInputs::kW, {Type::kUint32});
    node.CheckOutputType(kY, y_type_);
    node.CheckOutputType(kYbits, Type::kUint32);
    if (const auto w = node.ConstantInput(ProductInputs::kW)) PackConstant(*w);
  }

  void Compute(const ort::Run& run) const override {
    if (constant_) return Multiply(run, constant_->product, constant_->packed.data());
    // Weights that the graph computes are packed anew in every run.
    const Tensor w = run.Input(ProductInputs::kW, Type::kUint32);
    const product::Shape shape = Typed(layout_.WithWeights(w.shape));
    CheckWeights(shape, w.words());
    const Product product = Product::Select(shape, isa_);
    const ort::Allocator::Buffer packed = allocator_.Allocate(product.packed_bytes());
    product.Pack(w.words(), packed.data());
    Multiply(run, product, packed.data());
  }

 private:
  bool bits() const { return x_type_ == Type::kUint32; }

  product::Shape Typed(product::Shape shape) const {
    shape.x = ElementOf(x_type_);
    shape.y = ElementOf(y_type_);
    return shape;
  }

  void PackConstant(const Tensor& w) {
    product::Shape shape = Typed(layout_.WithWeights(w.shape));
    CheckWeights(shape, w.words());
    vectors_.CheckConstants(shape.out_channels);
    if (vectors_.HaveEqualScales(shape.out_channels)) shape.codes = product::Codes::kTernaryEqual;
    const Product product = Product::Select(shape, isa_);
    constant_.emplace(ConstantWeights{product, PackedWeights(product, w.words())});
    Record({name_, bits() ? "product_bits" : "product_float", product.name(), product.few_name(),
            product.few_positions()});
  }

  void Multiply(const ort::Run& run, const Product& product, const void* packed) const {
    const Tensor x = run.Input(ProductInputs::kX, x_type_);
    layout_.CheckInput(x.shape, bits());
    const Shape y_shape = layout_.OutputShape(x.shape, product.shape(), bits());
    CheckMap(run, x.shape, y_shape, product.shape());
    product::Call call = {};
    call.x = x.data;
    call.packed = packed;
    call.epilogue.acc_min = layout_.acc_min();
    vectors_.Read(run, product.shape().out_channels, &call.epilogue);
    ReadResidual(run, y_shape, &call.epilogue);
    if (wants_y_) call.y = run.Output(kY, y_shape);
    if (wants_ybits_) {
      call.ybits = static_cast<uint32_t*>(run.Output(kYbits, OutputBitsShape(y_shape)));
    }
    const int64_t height = y_shape.rank == 4 ? x.shape[bits() ? 1 : 2] : 1;
    const int64_t width = y_shape.rank == 4 ? x.shape[bits() ? 2 : 3] : 1;
    const product::Plan plan = product.PlanCall(x.shape[0], height, width, threads_);
    const ort::Allocator::Buffer scratch = allocator_.Allocate(plan.scratch_bytes);
    call.scratch = scratch.data();
    for (int phase = 0; phase < plan.phases; ++phase) {
      run.ParallelFor(plan.units[phase],
                      [&](int64_t unit) { product.Run(plan, call, phase, unit); });
    }
  }

  void CheckMap(const ort::Run& run, const Shape& x, const Shape& y,
                const product::Shape& geometry) const {
    if (y.rank == 2 || (y[2] > 0 && y[3] > 0)) return;
    run.FailShape(ProductInputs::kX, x,
                  "a padded map that holds the dilated " + std::to_string(geometry.kernel_h) +
                      " x " + std::to_string(geometry.kernel_w) + " kernel");
  }

  void ReadResidual(const ort::Run& run, const Shape& y, product::Epilogue* epilogue) const {
    const Tensor residual =
        constant_residual_ ? *constant_residual_ : run.Input(inputs_.residual, y_type_);
    const bool one = residual.shape.Count() == 1;
    if (!one && residual.shape != y) {
      run.FailShape(inputs_.residual, residual.shape, "one element or " + ToString(y));
    }
    epilogue->residual = residual.data;
    epilogue->residual_stride = one ? 0 : 1;
  }

  ProductLayout layout_;
  ProductInputs inputs_;
  Type x_type_, y_type_;
  std::string name_;
  uint32_t isa_;
  int threads_;
  bool wants_y_, wants_ybits_;
  ort::Allocator allocator_;
  ProductVectors vectors_;
  std::optional<Tensor> constant_residual_;
  std::optional<ConstantWeights> constant_;
};

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

}  // namespace

std::unique_ptr<ort::Kernel> CreateProduct(ProductKind kind, WeightKind weights,
                                           const ort::Node& node) {
  return std::make_unique<ProductOp>(kind, weights, node);
}

void InferProduct(ProductKind kind, WeightKind weights, const ort::Inference& inference) {
  Type x_type, w_type, y_type;
  Shape x, w, residual;
  inference.Input(ProductInputs::kX, &x_type, &x);
  inference.Input(ProductInputs::kW, &w_type, &w);
  inference.Input(ProductInputs(weights).residual, &y_type, &residual);
  const Shape y = InferredShape(kind, weights, inference, x, w, x_type == Type::kUint32);
  inference.Output(kY, y_type, y);
  inference.Output(kYbits, Type::kUint32, OutputBitsShape(y));
}

}  // namespace bnn::ops
