#include "kernels/max_pool_bits/max_pool_bits.h"

#include <algorithm>

#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/max_pool_bits.h"

namespace bnn::ops {
namespace {

class CpuMaxPoolBits : public MaxPoolBitsOp {
 public:
  explicit CpuMaxPoolBits(const ort::Node& node)
      : MaxPoolBitsOp(node),
        kernel_(Created(node, "max_pool_bits", SelectMaxPoolBits(AllowedIsa()))) {}

 private:
  static constexpr int64_t kGrain = 1 << 15;  // words read: a thread is not worth waking for less

  void Apply(const ort::Run& run, const ort::Tensor& b, const uint32_t* invert,
             const ort::Shape& pooled, uint32_t* y) const override {
    const int64_t height = b.shape[1], width = b.shape[2], words = b.shape[3];
    const int64_t out_height = pooled[1], out_width = pooled[2];
    const MaxPoolBitsShape shape = PoolShape(b.shape, pooled);
    const int64_t row_cost = out_width * words * std::min(shape.kernel_h, height + 1) *
                             std::min(shape.kernel_w, width + 1);
    run.ParallelRanges(
        b.shape[0] * out_height, kGrain / row_cost + 1, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t image = row / out_height, out_h = row % out_height;
            kernel_.run(shape, b.words() + image * height * width * words, invert,
                        y + image * out_height * out_width * words, out_h, out_h + 1);
          }
        });
  }

  MaxPoolBitsKernel kernel_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateMaxPoolBits(const ort::Node& node) {
  return std::make_unique<CpuMaxPoolBits>(node);
}

}  // namespace bnn::ops
