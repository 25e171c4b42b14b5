// Ternary up to its kernel: what a node and a run must bring, for every execution provider.
#ifndef BNN_OPS_TERNARY_H_
#define BNN_OPS_TERNARY_H_

#include "ops/channel_vector.h"
#include "ort/adaptor.h"

namespace bnn::ops {

class TernaryOp : public ort::Kernel {
 public:
  explicit TernaryOp(const ort::Node& node);
  void Compute(const ort::Run& run) const final;

 private:
  // Computes y, which has the type and size of x [N, C, ...]; not called for an empty x.
  virtual void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector threshold,
                     void* y) const = 0;

  ort::Type type_;
  ChannelVector threshold_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_TERNARY_H_
