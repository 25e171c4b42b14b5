#include "ops/unpack_bits.h"

#include "kernels/unpack_bits/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"

namespace bnn::ops {
namespace {

class CudaUnpackBits : public UnpackBitsOp {
 public:
  explicit CudaUnpackBits(const ort::Node& node) : UnpackBitsOp(node) {
    Record({node.name(), "unpack_bits", "cuda"});
  }

 private:
  void Apply(const ort::Run& run, const ort::Tensor& b, float* y) const override {
    const UnpackBitsShape shape = {channels(), b.shape.Product(1, b.shape.rank - 1)};
    CheckLaunch(unpack_bits_f32_cuda(shape, b.shape[0], b.words(), y, run.GpuStream()));
  }
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateUnpackBits(const ort::Node& node) {
  return std::make_unique<CudaUnpackBits>(node);
}

}  // namespace bnn::ops
