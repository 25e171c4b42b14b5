#include "kernels/max_pool_bits/max_pool_bits.h"

#include <algorithm>
#include <array>

#include "ops/created.h"
#include "ops/limits.h"
#include "ort/adaptor.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

using ort::Shape;
using ort::Type;

struct Window {
  std::array<int64_t, 2> kernel, strides;
  std::array<int64_t, 4> pads;  // top, left, bottom, right

  explicit Window(const ort::Attributes& attributes)
      : kernel(attributes.Ints<2>("kernel_shape", 1, kMaxExtent)),
        strides(attributes.Ints<2>("strides", 1, kMaxExtent)),
        pads(attributes.Ints<4>("pads", 0, kMaxExtent)) {}

  // Returns the output size along axis 0 (height) or 1 (width); at most 0 if no window fits.
  int64_t Extent(size_t axis, int64_t size) const {
    const int64_t room = size + pads[axis] + pads[axis + 2] - kernel[axis];
    return room < 0 ? 0 : room / strides[axis] + 1;
  }
};

class MaxPoolBitsOp : public ort::Kernel {
 public:
  explicit MaxPoolBitsOp(const ort::Node& node)
      : window_(node), kernel_(Created(node, "max_pool_bits", SelectMaxPoolBits(node.isa()))) {
    node.InputType(0, {Type::kUint32});
    node.InputType(1, {Type::kUint32});
    node.CheckOutputType(0, Type::kUint32);
  }

  void Compute(const ort::Run& run) const override {
    const ort::Tensor b = run.Input(0, Type::kUint32);
    const ort::Tensor invert = run.Input(1, Type::kUint32);
    if (b.shape.rank != 4) run.FailShape(0, b.shape, "[N, H, W, Cw]");
    const int64_t height = b.shape[1], width = b.shape[2], words = b.shape[3];
    if (invert.shape != Shape{words}) {
      run.FailShape(1, invert.shape, "[" + std::to_string(words) + "]");
    }
    const int64_t out_height = window_.Extent(0, height), out_width = window_.Extent(1, width);
    if (out_height == 0 || out_width == 0) {
      run.FailShape(0, b.shape,
                    "a padded map of at least " + std::to_string(window_.kernel[0]) + " x " +
                        std::to_string(window_.kernel[1]) + " pixels (kernel_shape)");
    }
    const Shape pooled = {b.shape[0], out_height, out_width, words};
    uint32_t* y = static_cast<uint32_t*>(run.Output(0, pooled));
    if (pooled.Count() == 0) return;
    const MaxPoolBitsShape shape = {height,
                                    width,
                                    words,
                                    window_.kernel[0],
                                    window_.kernel[1],
                                    window_.strides[0],
                                    window_.strides[1],
                                    window_.pads[0],
                                    window_.pads[1],
                                    out_width};
    const int64_t row_cost = out_width * words * std::min(window_.kernel[0], height + 1) *
                             std::min(window_.kernel[1], width + 1);
    run.ParallelRanges(
        b.shape[0] * out_height, kGrain / row_cost + 1, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t image = row / out_height, out_h = row % out_height;
            kernel_.run(shape, b.words() + image * height * width * words, invert.words(),
                        y + image * out_height * out_width * words, out_h, out_h + 1);
          }
        });
  }

 private:
  static constexpr int64_t kGrain = 1 << 15;  // words read: a thread is not worth waking for less

  Window window_;
  MaxPoolBitsKernel kernel_;
};

}  // namespace

const ort::OpDefinition& MaxPoolBits() {
  static const ort::OpDefinition definition = {
      "MaxPoolBits",
      {"B", "invert"},
      {"Y"},
      [](const ort::Inference& inference) {
        Type type;
        Shape b;
        inference.Input(0, &type, &b);
        const Window window(inference);
        Shape pooled = {-1, -1, -1, -1};
        if (b.rank == 4) {
          pooled.CopyAxis(0, b, 0);
          pooled.CopyAxis(3, b, 3);
          for (size_t axis : {0, 1}) {
            if (b[axis + 1] >= 0) pooled.dims[axis + 1] = window.Extent(axis, b[axis + 1]);
          }
        }
        inference.Output(0, Type::kUint32, pooled);
      },
      [](const ort::Node& node) -> std::unique_ptr<ort::Kernel> {
        return std::make_unique<MaxPoolBitsOp>(node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
