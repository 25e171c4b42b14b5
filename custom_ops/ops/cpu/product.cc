#include <memory>
#include <new>
#include <optional>
#include <string>

#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/product_op.h"
#include "ops/product_weights.h"

namespace bnn::ops {
namespace {

using ort::Tensor;
using product::Product;

// Constant weights, packed once for the kernels that were chosen.
class ConstantWeights {
 public:
  ConstantWeights(const Product& product, const uint32_t* words)
      : product_(product), memory_(::operator new(product.packed_bytes(), kAlign)) {
    product.Pack(words, memory_.get());
  }

  const Product& product() const { return product_; }
  const void* packed() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlign{product::kAlignment};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlign); }
  };

  Product product_;
  std::unique_ptr<void, Free> memory_;
};

class CpuProduct : public ProductOp {
 public:
  CpuProduct(ProductKind kind, WeightKind weights, const ort::Node& node)
      : ProductOp(kind, weights, node),
        name_(node.name()),
        isa_(AllowedIsa()),
        threads_(node.threads()),
        allocator_(node.allocator()) {
    if (const auto w = node.ConstantInput(ProductInputs::kW)) PackConstant(*w);
  }

  void Compute(const ort::Run& run) const override {
    if (constant_) return Multiply(run, constant_->product(), constant_->packed());
    // Weights that the graph computes are packed anew in every run.
    const Tensor w = run.Input(ProductInputs::kW, ort::Type::kUint32);
    const product::Shape shape = ShapeFor(w.shape);
    CheckWeights(shape, w.words());
    const Product product = Product::Select(shape, isa_);
    const ort::Allocator::Buffer packed = allocator_.Allocate(product.packed_bytes());
    product.Pack(w.words(), packed.data());
    Multiply(run, product, packed.data());
  }

 private:
  void PackConstant(const Tensor& w) {
    product::Shape shape = ShapeFor(w.shape);
    CheckWeights(shape, w.words());
    vectors().CheckConstants(shape.out_channels);
    const auto scales = vectors().ConstantScales(shape.out_channels);
    if (scales && product::EqualScales(scales->first, scales->second, shape.out_channels)) {
      shape.codes = product::Codes::kTernaryEqual;
    }
    const Product product = Product::Select(shape, isa_);
    constant_.emplace(product, w.words());
    Record({name_, bits() ? "product_bits" : "product_float", product.name(), product.few_name(),
            product.few_positions()});
  }

  void Multiply(const ort::Run& run, const Product& product, const void* packed) const {
    const Arguments arguments = Prepare(run, product.shape());
    const product::Plan plan =
        product.PlanCall(arguments.batch, arguments.height, arguments.width, threads_);
    const ort::Allocator::Buffer scratch = allocator_.Allocate(plan.scratch_bytes);
    const product::Call call = {arguments.x,     packed,         arguments.y,
                                arguments.ybits, scratch.data(), arguments.epilogue};
    for (int phase = 0; phase < plan.phases; ++phase) {
      run.ParallelFor(plan.units[phase],
                      [&](int64_t unit) { product.Run(plan, call, phase, unit); });
    }
  }

  std::string name_;
  uint32_t isa_;
  int threads_;
  ort::Allocator allocator_;
  std::optional<ConstantWeights> constant_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateXnorGemm(const ort::Node& node) {
  return std::make_unique<CpuProduct>(ProductKind::kGemm, WeightKind::kBinary, node);
}

std::unique_ptr<ort::Kernel> CreateXnorConv(const ort::Node& node) {
  return std::make_unique<CpuProduct>(ProductKind::kConv, WeightKind::kBinary, node);
}

std::unique_ptr<ort::Kernel> CreateTernaryGemm(const ort::Node& node) {
  return std::make_unique<CpuProduct>(ProductKind::kGemm, WeightKind::kTernary, node);
}

std::unique_ptr<ort::Kernel> CreateTernaryConv(const ort::Node& node) {
  return std::make_unique<CpuProduct>(ProductKind::kConv, WeightKind::kTernary, node);
}

}  // namespace bnn::ops
