#include "kernels/pack_bits/pack_bits.h"

#include "base/bits.h"
#include "ops/cpu/allowed_isa.h"
#include "ops/create.h"
#include "ops/created.h"
#include "ops/pack_bits.h"

namespace bnn::ops {
namespace {

class CpuPackBits : public PackBitsOp {
 public:
  explicit CpuPackBits(const ort::Node& node)
      : PackBitsOp(node), kernel_(Created(node, "pack_bits", SelectPackBits(AllowedIsa()))) {}

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less
  static constexpr int64_t kBlock = 64;       // positions

  void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector sign,
             product::Vector threshold, uint32_t* bits) const override {
    const int64_t channels = x.shape[1];
    const int64_t positions = x.shape.Product(2, x.shape.rank);
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

  void PackPart(const PackBitsShape& shape, const ort::Tensor& x, uint32_t* bits, int64_t image,
                int64_t begin, int64_t end) const {
    const int64_t first = image * shape.channels * shape.positions;
    uint32_t* to = bits + image * shape.positions * bits::WordCount(shape.channels);
    if (x.type == ort::Type::kFloat) {
      kernel_.f32(shape, x.floats() + first, to, begin, end);
    } else {
      kernel_.f16(shape, x.halves() + first, to, begin, end);
    }
  }

  PackBitsKernel kernel_;
};

}  // namespace

std::unique_ptr<ort::Kernel> CreatePackBits(const ort::Node& node) {
  return std::make_unique<CpuPackBits>(node);
}

}  // namespace bnn::ops
