// What the CUDA products share: sizes of a call and what becomes of a sum.
#ifndef BNN_KERNELS_PRODUCT_EPILOGUE_CUH_
#define BNN_KERNELS_PRODUCT_EPILOGUE_CUH_

#include "base/bits.h"
#include "base/cuda_kernel.h"
#include "kernels/product/cuda.h"

namespace bnn::product {

// Sizes that follow from shape and call.
struct Sizes {
  int64_t out_h, out_w, positions;
  int64_t group_channels, group_outputs, group_words;
  uint32_t last_mask;  // bits of the last word of a group that hold channels
};

// What the epilogue takes of one output channel.
struct Channel {
  float scale, bias, residual, slope, shift, threshold;
};

BNN_DEVICE float At(const Vector& v, int64_t channel) { return v.data[channel * v.stride]; }

BNN_DEVICE float LoadReal(Element type, const void* data, int64_t index) {
  return type == Element::kFloat16 ? cuda::ToFloat(static_cast<const uint16_t*>(data)[index])
                                   : static_cast<const float*>(data)[index];
}

// Rounds to the type of Y, stores if there is a Y, and returns what is (or would be) stored.
BNN_DEVICE float StoreReal(Element type, void* data, int64_t index, float value) {
  if (type == Element::kFloat16) {
    uint16_t half;
    cuda::Round(value, &half);
    if (data != nullptr) static_cast<uint16_t*>(data)[index] = half;
    return cuda::ToFloat(half);
  }
  if (data != nullptr) static_cast<float*>(data)[index] = value;
  return value;
}

BNN_DEVICE Channel LoadChannel(const Shape& s, const Epilogue& e, int64_t channel) {
  return {At(e.scale, channel), At(e.bias, channel),  LoadReal(s.y, e.residual, 0),
          At(e.slope, channel), At(e.shift, channel), At(e.threshold, channel)};
}

// The epilogue of one output, number `index` of Y; returns its bit.
BNN_DEVICE uint32_t Finish(const Shape& s, const CudaCall& call, const Channel& c, float acc,
                           int64_t index) {
  const Epilogue& e = call.epilogue;
  float v = acc < e.acc_min ? e.acc_min : acc;  // keeps NaN
  v = v * c.scale;
  v = v + c.bias;
  v = v + (e.residual_stride == 0 ? c.residual : LoadReal(s.y, e.residual, index));
  v = v >= 0.0f ? v : v * c.slope;
  v = v + c.shift;
  return StoreReal(s.y, call.y, index, v) >= c.threshold ? 1u : 0u;
}

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_EPILOGUE_CUH_
