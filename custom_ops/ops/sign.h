// Sign up to its kernel: what a node and a run must bring, for every execution provider.
#ifndef BNN_OPS_SIGN_H_
#define BNN_OPS_SIGN_H_

#include "ort/adaptor.h"

namespace bnn::ops {

class SignOp : public ort::Kernel {
 public:
  explicit SignOp(const ort::Node& node);
  void Compute(const ort::Run& run) const final;

 private:
  // Computes y, which has the type and size of x; not called for an empty x.
  virtual void Apply(const ort::Run& run, const ort::Tensor& x, void* y) const = 0;

  ort::Type type_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_SIGN_H_
