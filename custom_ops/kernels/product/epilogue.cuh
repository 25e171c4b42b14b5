// What every CUDA product does with its sums.
#ifndef BNN_KERNELS_PRODUCT_EPILOGUE_CUH_
#define BNN_KERNELS_PRODUCT_EPILOGUE_CUH_

#include "base/cuda_kernel.h"
#include "kernels/product/cuda.h"

namespace bnn::product {

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

// The epilogue of one output; returns its bit.
BNN_DEVICE uint32_t Finish(const Shape& s, const CudaCall& call, float acc, int64_t channel,
                           int64_t index) {
  const Epilogue& e = call.epilogue;
  float v = acc < e.acc_min ? e.acc_min : acc;  // keeps NaN
  v = v * At(e.scale, channel);
  v = v + At(e.bias, channel);
  v = v + LoadReal(s.y, e.residual, index * e.residual_stride);
  v = v >= 0.0f ? v : v * At(e.slope, channel);
  v = v + At(e.shift, channel);
  return StoreReal(s.y, call.y, index, v) >= At(e.threshold, channel) ? 1u : 0u;
}

// Scales ternary sums; with kTernaryEqual `plus` is that of both planes.
template <Codes codes>
BNN_DEVICE float ScaleSums(const Epilogue& e, float plus, float minus, int64_t channel) {
  const float p = plus * At(e.w_pos, channel);
  if (codes == Codes::kTernaryEqual) return p;
  const float n = minus * At(e.w_neg, channel);
  return p - n;
}

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_EPILOGUE_CUH_
