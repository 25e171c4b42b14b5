#include "ops/sign.h"

#include "kernels/sign/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"

namespace bnn::ops {
namespace {

class CudaSign : public SignOp {
 public:
  explicit CudaSign(const ort::Node& node) : SignOp(node) { Record({node.name(), "sign", "cuda"}); }

 private:
  void Apply(const ort::Run& run, const ort::Tensor& x, void* y) const override {
    const int64_t count = x.shape.Count();
    CheckLaunch(x.type == ort::Type::kFloat
                    ? sign_f32_cuda(x.floats(), static_cast<float*>(y), count, run.GpuStream())
                    : sign_f16_cuda(x.halves(), static_cast<uint16_t*>(y), count, run.GpuStream()));
  }
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateSign(const ort::Node& node) {
  return std::make_unique<CudaSign>(node);
}

}  // namespace bnn::ops
