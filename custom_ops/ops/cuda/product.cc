#include <memory>
#include <optional>

#include "kernels/product/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"
#include "ops/product_op.h"
#include "ops/product_weights.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

using ort::Tensor;
using product::CudaProduct;
using product::Vector;

// Tells whether constant w_pos and w_neg, in device memory, allow one sum for both planes.
bool HaveEqualScales(const ProductVectors& vectors, int64_t channels) {
  const auto scales = vectors.ConstantScales(channels);
  if (!scales) return false;
  const auto read = [channels](Vector v) {
    return ReadValues(v.data, v.stride == 0 ? 1 : channels);
  };
  const auto w_pos = read(scales->first), w_neg = read(scales->second);
  return product::EqualScales({w_pos.data(), scales->first.stride},
                              {w_neg.data(), scales->second.stride}, channels);
}

// Weights have to be constant: they are checked and packed on the host once, and a run may neither
// wait for the device nor allocate.
class CudaProductOp : public ProductOp {
 public:
  CudaProductOp(ProductKind kind, WeightKind weights, const ort::Node& node)
      : ProductOp(kind, weights, node), allocator_(node.allocator()) {
    const auto w = node.ConstantInput(ProductInputs::kW);
    if (!w) {
      ort::Fail("input W", "weights that the graph computes",
                "an initializer on the CUDA execution provider; run this model on the CPU");
    }
    Pack(*w);
    Record({node.name(), bits() ? "product_bits" : "product_float", product_->name()});
  }

  void Compute(const ort::Run& run) const override {
    const Arguments arguments = Prepare(run, product_->shape());
    if (arguments.batch == 0) return;
    product::CudaCall call = {};
    call.batch = arguments.batch;
    call.height = arguments.height;
    call.width = arguments.width;
    call.x = arguments.x;
    call.packed = packed_->data();
    call.y = arguments.y;
    call.ybits = arguments.ybits;
    call.epilogue = arguments.epilogue;
    CheckLaunch(product_->Launch(call, run.GpuStream()));
  }

 private:
  void Pack(const Tensor& w) {
    product::Shape shape = ShapeFor(w.shape);
    const auto words = ReadValues(w.words(), w.shape.Count());
    CheckWeights(shape, words.data());
    vectors().CheckConstants(shape.out_channels);
    if (HaveEqualScales(vectors(), shape.out_channels)) {
      shape.codes = product::Codes::kTernaryEqual;
    }
    product_ = CudaProduct::Select(shape, CurrentDevice());
    CheckCuda(product_->Prepare(), "preparing its kernel");
    std::vector<uint8_t> packed(product_->packed_bytes());
    product_->Pack(words.data(), packed.data());
    packed_.emplace(allocator_, packed.size());
    CopyToDevice(packed_->data(), packed.data(), packed.size());
  }

  ort::Allocator allocator_;
  std::optional<CudaProduct> product_;
  std::optional<ort::Allocator::Buffer> packed_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateXnorGemm(const ort::Node& node) {
  return std::make_unique<CudaProductOp>(ProductKind::kGemm, WeightKind::kBinary, node);
}

std::unique_ptr<ort::Kernel> CreateXnorConv(const ort::Node& node) {
  return std::make_unique<CudaProductOp>(ProductKind::kConv, WeightKind::kBinary, node);
}

std::unique_ptr<ort::Kernel> CreateTernaryGemm(const ort::Node& node) {
  return std::make_unique<CudaProductOp>(ProductKind::kGemm, WeightKind::kTernary, node);
}

std::unique_ptr<ort::Kernel> CreateTernaryConv(const ort::Node& node) {
  return std::make_unique<CudaProductOp>(ProductKind::kConv, WeightKind::kTernary, node);
}

}  // namespace bnn::ops
