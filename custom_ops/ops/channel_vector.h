// A float32 input with one element for all channels, or one per channel.
#ifndef BNN_OPS_CHANNEL_VECTOR_H_
#define BNN_OPS_CHANNEL_VECTOR_H_

#include <optional>

#include "ort/node.h"
#include "ort/run.h"

namespace bnn::ops {

class ChannelVector {
 public:
  struct View {
    const float* data;
    int64_t stride;  // 0: one for all channels, 1: one per channel
  };

  // Checks the type, and the length as well if it is constant and `channels` is known (>= 0).
  ChannelVector(const ort::Node& node, size_t index, int64_t channels);

  // Returns the values; throws unless there are one or `channels` of them.
  View Read(const ort::Run& run, int64_t channels) const;

 private:
  size_t index_;
  std::optional<ort::Tensor> constant_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_CHANNEL_VECTOR_H_
