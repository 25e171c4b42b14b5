// UnpackBits up to its kernel: what a node and a run must bring, for every execution provider.
#ifndef BNN_OPS_UNPACK_BITS_H_
#define BNN_OPS_UNPACK_BITS_H_

#include "ort/adaptor.h"

namespace bnn::ops {

class UnpackBitsOp : public ort::Kernel {
 public:
  explicit UnpackBitsOp(const ort::Node& node);
  void Compute(const ort::Run& run) const final;

 protected:
  int64_t channels() const { return channels_; }

 private:
  // Unpacks b [N, ..., words] to y [N, channels, ...]; not called for an empty y.
  virtual void Apply(const ort::Run& run, const ort::Tensor& b, float* y) const = 0;

  int64_t channels_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_UNPACK_BITS_H_
