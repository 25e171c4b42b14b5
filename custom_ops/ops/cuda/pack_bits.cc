#include "ops/pack_bits.h"

#include "kernels/pack_bits/cuda.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/cuda/device.h"

namespace bnn::ops {
namespace {

class CudaPackBits : public PackBitsOp {
 public:
  explicit CudaPackBits(const ort::Node& node) : PackBitsOp(node) {
    Record({node.name(), "pack_bits", "cuda"});
  }

 private:
  void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector sign,
             product::Vector threshold, uint32_t* bits) const override {
    const PackBitsShape shape = {x.shape[1],     x.shape.Product(2, x.shape.rank),
                                 sign.data,      sign.stride,
                                 threshold.data, threshold.stride};
    const int64_t images = x.shape[0];
    CheckLaunch(x.type == ort::Type::kFloat
                    ? pack_bits_f32_cuda(shape, images, x.floats(), bits, run.GpuStream())
                    : pack_bits_f16_cuda(shape, images, x.halves(), bits, run.GpuStream()));
  }
};

}  // namespace

std::unique_ptr<ort::Kernel> CreatePackBits(const ort::Node& node) {
  return std::make_unique<CudaPackBits>(node);
}

}  // namespace bnn::ops
