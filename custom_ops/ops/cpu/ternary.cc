#include "kernels/ternary/ternary.h"

#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/ternary.h"

namespace bnn::ops {
namespace {

class CpuTernary : public TernaryOp {
 public:
  explicit CpuTernary(const ort::Node& node)
      : TernaryOp(node), kernel_(Created(node, "ternary", SelectTernary(AllowedIsa()))) {}

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector threshold,
             void* y) const override {
    const int64_t channels = x.shape[1];
    const int64_t inner = x.shape.Product(2, x.shape.rank);
    // A row is a stretch of x with one threshold, or all channels of an image of one position.
    const bool by_image = inner == 1 || threshold.stride == 0;
    const int64_t row = by_image ? channels * inner : inner;
    const int64_t rows = x.shape.Count() / row;
    run.ParallelRanges(rows, kGrain / row + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* t = threshold.data + (by_image ? 0 : r % channels);
        RunRow(x, t, by_image ? threshold.stride : 0, y, r * row, row);
      }
    });
  }

  void RunRow(const ort::Tensor& x, const float* threshold, int64_t stride, void* y, int64_t first,
              int64_t count) const {
    if (x.type == ort::Type::kFloat) {
      kernel_.f32(x.floats() + first, threshold, stride, static_cast<float*>(y) + first, count);
    } else {
      kernel_.f16(x.halves() + first, threshold, stride, static_cast<uint16_t*>(y) + first, count);
    }
  }

  TernaryKernel kernel_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreateTernary(const ort::Node& node) {
  return std::make_unique<CpuTernary>(node);
}

}  // namespace bnn::ops
