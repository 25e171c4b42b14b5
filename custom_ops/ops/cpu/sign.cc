#include "kernels/sign/sign.h"

#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/sign.h"

namespace bnn::ops {
namespace {

class CpuSign : public SignOp {
 public:
  explicit CpuSign(const ort::Node& node)
      : SignOp(node), kernel_(Created(node, "sign", SelectSign(AllowedIsa()))) {}

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  void Apply(const ort::Run& run, const ort::Tensor& x, void* y) const override {
    run.ParallelRanges(x.shape.Count(), kGrain, [&](int64_t begin, int64_t end) {
      if (x.type == ort::Type::kFloat) {
        kernel_.f32(x.floats() + begin, static_cast<float*>(y) + begin, end - begin);
      } else {
        kernel_.f16(x.halves() + begin, static_cast<uint16_t*>(y) + begin, end - begin);
      }
    });
  }

  SignKernel kernel_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateSign(const ort::Node& node) {
  return std::make_unique<CpuSign>(node);
}

}  // namespace bnn::ops
