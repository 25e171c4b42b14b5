#include "ops/max_pool_bits.h"

#include "kernels/max_pool_bits/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"

namespace bnn::ops {
namespace {

class CudaMaxPoolBits : public MaxPoolBitsOp {
 public:
  explicit CudaMaxPoolBits(const ort::Node& node) : MaxPoolBitsOp(node) {
    Record({node.name(), "max_pool_bits", "cuda"});
  }

 private:
  void Apply(const ort::Run& run, const ort::Tensor& b, const uint32_t* invert,
             const ort::Shape& pooled, uint32_t* y) const override {
    const MaxPoolBitsShape shape = PoolShape(b.shape, pooled);
    CheckLaunch(
        max_pool_bits_cuda(shape, b.shape[0], pooled[1], b.words(), invert, y, run.GpuStream()));
  }
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateMaxPoolBits(const ort::Node& node) {
  return std::make_unique<CudaMaxPoolBits>(node);
}

}  // namespace bnn::ops
