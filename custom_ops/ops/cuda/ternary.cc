#include "ops/ternary.h"

#include "kernels/ternary/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"

namespace bnn::ops {
namespace {

class CudaTernary : public TernaryOp {
 public:
  explicit CudaTernary(const ort::Node& node) : TernaryOp(node) {
    Record({node.name(), "ternary", "cuda"});
  }

 private:
  void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector t, void* y) const override {
    const TernaryShape shape = {x.shape[0], x.shape[1], x.shape.Product(2, x.shape.rank)};
    CheckLaunch(x.type == ort::Type::kFloat
                    ? ternary_f32_cuda(shape, x.floats(), t.data, t.stride, static_cast<float*>(y),
                                       run.GpuStream())
                    : ternary_f16_cuda(shape, x.halves(), t.data, t.stride,
                                       static_cast<uint16_t*>(y), run.GpuStream()));
  }
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateTernary(const ort::Node& node) {
  return std::make_unique<CudaTernary>(node);
}

}  // namespace bnn::ops
