#include "kernels/ternary/ternary.h"

#include "ops/channel_vector.h"
#include "ops/created.h"
#include "ort/adaptor.h"

namespace bnn::ops {
namespace {

using ort::Type;

class TernaryOp : public ort::Kernel {
 public:
  explicit TernaryOp(const ort::Node& node)
      : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})),
        threshold_(node, 1),
        kernel_(Created(node, "ternary", SelectTernary(node.isa()))) {
    node.CheckOutputType(0, type_);
  }

  void Compute(const ort::Run& run) const override {
    const ort::Tensor x = run.Input(0, type_);
    if (x.shape.rank < 2) run.FailShape(0, x.shape, "[N, C, ...]");
    const int64_t channels = x.shape[1];
    const int64_t inner = x.shape.Product(2, x.shape.rank);
    const ChannelVector::View threshold = threshold_.Read(run, channels);
    void* y = run.Output(0, x.shape);
    if (x.shape.Count() == 0) return;
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

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  void RunRow(const ort::Tensor& x, const float* threshold, int64_t stride, void* y, int64_t first,
              int64_t count) const {
    if (type_ == Type::kFloat) {
      kernel_.f32(x.floats() + first, threshold, stride, static_cast<float*>(y) + first, count);
    } else {
      kernel_.f16(x.halves() + first, threshold, stride, static_cast<uint16_t*>(y) + first, count);
    }
  }

  Type type_;
  ChannelVector threshold_;
  TernaryKernel kernel_;
};

}  // namespace

const ort::OpDefinition& Ternary() {
  static const ort::OpDefinition definition = {
      "Ternary",
      {"X", "threshold"},
      {"Y"},
      [](const ort::Inference& inference) {
        Type type;
        ort::Shape shape;
        inference.Input(0, &type, &shape);
        // Rank 0 also stands for a rank that is not known.
        if (shape.rank > 0) inference.Output(0, type, shape);
      },
      [](const ort::Node& node) -> std::unique_ptr<ort::Kernel> {
        return std::make_unique<TernaryOp>(node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
