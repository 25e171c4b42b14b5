// A float32 input with one element for all channels, or one per channel.
#ifndef BNN_OPS_CHANNEL_VECTOR_H_
#define BNN_OPS_CHANNEL_VECTOR_H_

#include <optional>
#include <string>

#include "kernels/product/product.h"
#include "ort/node.h"
#include "ort/run.h"

namespace bnn::ops {

class ChannelVector {
 public:
  using View = product::Vector;

  // Checks the type.
  ChannelVector(const ort::Node& node, size_t index);

  // Returns the values if they are constant; throws unless there are one or `channels` of them.
  std::optional<View> Constant(int64_t channels) const;

  // Returns the values; throws unless there are one or `channels` of them.
  View Read(const ort::Run& run, int64_t channels) const;

 private:
  View Checked(const ort::Tensor& tensor, int64_t channels) const;

  size_t index_;
  std::string subject_;
  std::optional<ort::Tensor> constant_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_CHANNEL_VECTOR_H_
