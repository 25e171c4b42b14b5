#include "ops/channel_vector.h"

#include <string>

#include "ort/error.h"

namespace bnn::ops {
namespace {

ChannelVector::View Checked(const ort::Tensor& tensor, const std::string& subject,
                            int64_t channels) {
  const int64_t length = tensor.shape[0];
  if (tensor.shape.rank != 1 || (length != 1 && length != channels)) {
    ort::Fail(subject, "shape " + ToString(tensor.shape),
              channels == 1 ? "[1]" : "[1] or [" + std::to_string(channels) + "]");
  }
  return {tensor.floats(), length == 1 ? 0 : 1};
}

}  // namespace

ChannelVector::ChannelVector(const ort::Node& node, size_t index, int64_t channels)
    : index_(index) {
  node.InputType(index, {ort::Type::kFloat});
  constant_ = node.ConstantInput(index);
  if (constant_ && channels >= 0) Checked(*constant_, node.InputSubject(index), channels);
}

ChannelVector::View ChannelVector::Read(const ort::Run& run, int64_t channels) const {
  const ort::Tensor tensor = constant_ ? *constant_ : run.Input(index_, ort::Type::kFloat);
  return Checked(tensor, run.InputSubject(index_), channels);
}

}  // namespace bnn::ops
