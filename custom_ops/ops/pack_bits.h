// PackBits up to its kernel: what a node and a run must bring, for every execution provider.
#ifndef BNN_OPS_PACK_BITS_H_
#define BNN_OPS_PACK_BITS_H_

#include "ops/channel_vector.h"
#include "ort/adaptor.h"

namespace bnn::ops {

// Returns the shape [N, ..., words] that holds the channels of x [N, C, ...] as bits.
ort::Shape PackedShape(const ort::Shape& x);

class PackBitsOp : public ort::Kernel {
 public:
  explicit PackBitsOp(const ort::Node& node);
  void Compute(const ort::Run& run) const final;

 private:
  // Packs x [N, C, ...]; not called for an empty x.
  virtual void Apply(const ort::Run& run, const ort::Tensor& x, product::Vector sign,
                     product::Vector threshold, uint32_t* bits) const = 0;

  ort::Type type_;
  ChannelVector sign_;
  ChannelVector threshold_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_PACK_BITS_H_
