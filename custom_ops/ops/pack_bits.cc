#include "kernels/pack_bits/pack_bits.h"

#include "base/bits.h"
#include "ops/channel_vector.h"
#include "ops/created.h"
#include "ort/adaptor.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Type;

// Returns [N, ..., words] for x [N, C, ...].
Shape PackedShape(const Shape& x) {
  Shape packed = x;
  for (size_t axis = 2; axis < x.rank; ++axis) packed.CopyAxis(axis - 1, x, axis);
  packed.dims[x.rank - 1] = x[1] < 0 ? -1 : bits::WordCount(x[1]);
  packed.names[x.rank - 1] = nullptr;
  return packed;
}

class PackBitsOp : public ort::Kernel {
 public:
  explicit PackBitsOp(const ort::Node& node)
      : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})),
        sign_(node, 1),
        threshold_(node, 2),
        kernel_(Created(node, "pack_bits", SelectPackBits(node.isa()))) {
    node.CheckOutputType(0, Type::kUint32);
  }

  void Compute(const ort::Run& run) const override {
    const ort::Tensor x = run.Input(0, type_);
    if (x.shape.rank < 2) run.FailShape(0, x.shape, "[N, C, ...]");
    const int64_t channels = x.shape[1];
    const int64_t positions = x.shape.Product(2, x.shape.rank);
    const ChannelVector::View sign = sign_.Read(run, channels);
    const ChannelVector::View threshold = threshold_.Read(run, channels);
    const Shape packed = PackedShape(x.shape);
    uint32_t* bits = static_cast<uint32_t*>(run.Output(0, packed));
    if (packed.Count() == 0) return;
    const PackBitsShape shape = {channels,    positions,      sign.data,
                                 sign.stride, threshold.data, threshold.stride};
    // Parts of an image start at multiples of kBlock, so that threads share no cache line of x.
    const int64_t parts = (positions + kBlock - 1) / kBlock;
    const int64_t grain = kGrain / (channels * std::min(kBlock, positions)) + 1;
    run.ParallelRanges(x.shape[0] * parts, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t image = begin / parts;
        const int64_t stop = std::min(end, (image + 1) * parts);
        PackPart(shape, x, bits, image, (begin - image * parts) * kBlock,
                 std::min(positions, (stop - image * parts) * kBlock));
        begin = stop;
      }
    });
  }

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less
  static constexpr int64_t kBlock = 64;       // positions

  void PackPart(const PackBitsShape& shape, const ort::Tensor& x, uint32_t* bits, int64_t image,
                int64_t begin, int64_t end) const {
    const int64_t first = image * shape.channels * shape.positions;
    uint32_t* to = bits + image * shape.positions * bits::WordCount(shape.channels);
    if (type_ == Type::kFloat) {
      kernel_.f32(shape, x.floats() + first, to, begin, end);
    } else {
      kernel_.f16(shape, x.halves() + first, to, begin, end);
    }
  }

  Type type_;
  ChannelVector sign_;
  ChannelVector threshold_;
  PackBitsKernel kernel_;
};

}  // namespace

const ort::OpDefinition& PackBits() {
  static const ort::OpDefinition definition = {
      "PackBits",
      {"X", "sign", "threshold"},
      {"B"},
      [](const ort::Inference& inference) {
        Type type;
        Shape shape;
        inference.Input(0, &type, &shape);
        inference.Output(0, Type::kUint32, shape.rank < 2 ? Shape() : PackedShape(shape));
      },
      [](const ort::Node& node) -> std::unique_ptr<ort::Kernel> {
        return std::make_unique<PackBitsOp>(node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
