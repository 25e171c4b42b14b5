#include "kernels/sign/sign.h"

#include "ops/created.h"
#include "ort/adaptor.h"

namespace bnn::ops {
namespace {

using ort::Type;

class SignOp : public ort::Kernel {
 public:
  explicit SignOp(const ort::Node& node)
      : type_(node.InputType(0, {Type::kFloat, Type::kFloat16})),
        kernel_(Created(node, "sign", SelectSign(node.isa()))) {
    node.CheckOutputType(0, type_);
  }

  void Compute(const ort::Run& run) const override {
    const ort::Tensor x = run.Input(0, type_);
    void* y = run.Output(0, x.shape);
    run.ParallelRanges(x.shape.Count(), kGrain, [&](int64_t begin, int64_t end) {
      if (type_ == Type::kFloat) {
        kernel_.f32(x.floats() + begin, static_cast<float*>(y) + begin, end - begin);
      } else {
        kernel_.f16(x.halves() + begin, static_cast<uint16_t*>(y) + begin, end - begin);
      }
    });
  }

 private:
  static constexpr int64_t kGrain = 1 << 16;  // elements: a thread is not worth waking for less

  Type type_;
  SignKernel kernel_;
};

}  // namespace

const ort::OpDefinition& Sign() {
  static const ort::OpDefinition definition = {
      "Sign",
      {"X"},
      {"Y"},
      [](const ort::Inference& inference) {
        Type type;
        ort::Shape shape;
        inference.Input(0, &type, &shape);
        // Rank 0 also stands for a rank that is not known.
        if (shape.rank > 0) inference.Output(0, type, shape);
      },
      [](const ort::Node& node) -> std::unique_ptr<ort::Kernel> {
        return std::make_unique<SignOp>(node);
      },
  };
  return definition;
}

}  // namespace bnn::ops
