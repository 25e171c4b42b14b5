#include "kernels/unpack_bits/unpack_bits.h"

#include "base/bits.h"
#include "ops/created.h"
#include "ops/limits.h"
#include "ort/adaptor.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Type;

// Returns [N, channels, ...] for bits [N, ..., words].
Shape UnpackedShape(const Shape& bits, int64_t channels) {
  Shape unpacked = bits;
  for (size_t axis = 2; axis < bits.rank; ++axis) unpacked.CopyAxis(axis, bits, axis - 1);
  unpacked.dims[1] = channels;
  unpacked.names[1] = nullptr;
  return unpacked;
}

class UnpackBitsOp : public ort::Kernel {
 public:
  explicit UnpackBitsOp(const ort::Node& node)
      : channels_(node.Int("channels", 1, kMaxDepth)),
        kernel_(Created(node, "unpack_bits", SelectUnpackBits(node.isa()))) {
    node.InputType(0, {Type::kUint32});
    node.CheckOutputType(0, Type::kFloat);
  }

  void Compute(const ort::Run& run) const override {
    const ort::Tensor b = run.Input(0, Type::kUint32);
    const int64_t words = bits::WordCount(channels_);
    if (b.shape.rank < 2 || b.shape[b.shape.rank - 1] != words) {
      run.FailShape(0, b.shape,
                    "[N, ..., " + std::to_string(words) + "] (words of " +
                        std::to_string(channels_) + " channels)");
    }
    const Shape unpacked = UnpackedShape(b.shape, channels_);
    float* y = static_cast<float*>(run.Output(0, unpacked));
    if (unpacked.Count() == 0) return;
    const UnpackBitsShape shape = {channels_, b.shape.Product(1, b.shape.rank - 1)};
    run.ParallelRanges(b.shape[0], kGrain / (shape.channels * shape.positions) + 1,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t image = begin; image < end; ++image) {
                           kernel_.f32(shape, b.words() + image * shape.positions * words,
                                       y + image * shape.positions * shape.channels, 0,
                                       shape.positions);
                         }
                       });
  }

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  int64_t channels_;
  UnpackBitsKernel kernel_;
};

}  // namespace

const ort::OpDefinition& UnpackBits() {
  static const ort::OpDefinition definition = {
      "UnpackBits",
      {"B"},
      {"Y"},
      [](const ort::Inference& inference) {
        Type type;
        Shape shape;
        inference.Input(0, &type, &shape);
        const int64_t channels = inference.Int("channels", 1, kMaxDepth);
        inference.Output(0, Type::kFloat,
                         shape.rank < 2 ? Shape() : UnpackedShape(shape, channels));
      },
      [](const ort::Node& node) -> std::unique_ptr<ort::Kernel> {
        return std::make_unique<UnpackBitsOp>(node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
