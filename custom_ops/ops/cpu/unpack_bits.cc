#include "kernels/unpack_bits/unpack_bits.h"

#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/unpack_bits.h"

namespace bnn::ops {
namespace {

class CpuUnpackBits : public UnpackBitsOp {
 public:
  explicit CpuUnpackBits(const ort::Node& node)
      : UnpackBitsOp(node), kernel_(Created(node, "unpack_bits", SelectUnpackBits(AllowedIsa()))) {}

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  void Apply(const ort::Run& run, const ort::Tensor& b, float* y) const override {
    const int64_t words = b.shape[b.shape.rank - 1];
    const UnpackBitsShape shape = {channels(), b.shape.Product(1, b.shape.rank - 1)};
    run.ParallelRanges(b.shape[0], kGrain / (shape.channels * shape.positions) + 1,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t image = begin; image < end; ++image) {
                           kernel_.f32(shape, b.words() + image * shape.positions * words,
                                       y + image * shape.positions * shape.channels, 0,
                                       shape.positions);
                         }
                       });
  }

  UnpackBitsKernel kernel_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateUnpackBits(const ort::Node& node) {
  return std::make_unique<CpuUnpackBits>(node);
}

}  // namespace bnn::ops
