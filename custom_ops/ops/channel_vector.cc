#include "ops/channel_vector.h"

#include "ort/error.h"

namespace bnn::ops {

ChannelVector::ChannelVector(const ort::Node& node, size_t index)
    : index_(index), subject_(node.InputSubject(index)) {
  node.InputType(index, {ort::Type::kFloat});
  constant_ = node.ConstantInput(index);
}

std::optional<ChannelVector::View> ChannelVector::Constant(int64_t channels) const {
  if (!constant_) return std::nullopt;
  return Checked(*constant_, channels);
}

ChannelVector::View ChannelVector::Read(const ort::Run& run, int64_t channels) const {
  return Checked(constant_ ? *constant_ : run.Input(index_, ort::Type::kFloat), channels);
}

ChannelVector::View ChannelVector::Checked(const ort::Tensor& tensor, int64_t channels) const {
  const int64_t length = tensor.shape[0];
  if (tensor.shape.rank != 1 || (length != 1 && length != channels)) {
    ort::Fail(subject_, "shape " + ToString(tensor.shape),
              channels == 1 ? "[1]" : "[1] or [" + std::to_string(channels) + "]");
  }
  return {tensor.floats(), length == 1 ? 0 : 1};
}

}  // namespace bnn::ops
