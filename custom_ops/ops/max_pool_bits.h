// MaxPoolBits up to its kernel: what a node and a run must bring, for every execution provider.
#ifndef BNN_OPS_MAX_POOL_BITS_H_
#define BNN_OPS_MAX_POOL_BITS_H_

#include <array>

#include "kernels/max_pool_bits/max_pool_bits.h"
#include "ort/adaptor.h"

namespace bnn::ops {

// The attributes: where the windows lie.
struct PoolWindow {
  std::array<int64_t, 2> kernel, strides;
  std::array<int64_t, 4> pads;  // top, left, bottom, right

  explicit PoolWindow(const ort::Attributes& attributes);

  // Returns the output size along axis 0 (height) or 1 (width); at most 0 if no window fits.
  int64_t Extent(size_t axis, int64_t size) const;
};

class MaxPoolBitsOp : public ort::Kernel {
 public:
  explicit MaxPoolBitsOp(const ort::Node& node);
  void Compute(const ort::Run& run) const final;

 protected:
  // Returns what kernels take, for input and output of these shapes.
  MaxPoolBitsShape PoolShape(const ort::Shape& b, const ort::Shape& pooled) const;

 private:
  // Pools b [N, H, W, words] to y [N, out_h, out_w, words]; not called for an empty y.
  virtual void Apply(const ort::Run& run, const ort::Tensor& b, const uint32_t* invert,
                     const ort::Shape& pooled, uint32_t* y) const = 0;

  PoolWindow window_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_MAX_POOL_BITS_H_
