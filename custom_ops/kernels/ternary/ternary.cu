#include "base/cuda_kernel.h"
#include "kernels/ternary/cuda.h"

namespace bnn {
namespace {

template <typename T>
struct TernaryOf {
  TernaryShape shape;
  const T* x;
  const float* threshold;
  int64_t threshold_stride;
  T* y;

  BNN_DEVICE void operator()(int64_t i) const {
    const float t = threshold[i / shape.positions % shape.channels * threshold_stride];
    const float value = cuda::ToFloat(x[i]);
    cuda::Round(static_cast<float>((value > t) - (value < -t)), &y[i]);
  }
};

template <typename T>
cuda::Status Run(const TernaryShape& shape, const T* x, const float* threshold, int64_t stride,
                 T* y, cuda::Stream stream) {
  return cuda::ForEach(TernaryOf<T>{shape, x, threshold, stride, y},
                       shape.images * shape.channels * shape.positions, stream);
}

}  // namespace

cuda::Status ternary_f32_cuda(const TernaryShape& shape, const float* x, const float* threshold,
                              int64_t threshold_stride, float* y, cuda::Stream stream) {
  return Run(shape, x, threshold, threshold_stride, y, stream);
}

cuda::Status ternary_f16_cuda(const TernaryShape& shape, const uint16_t* x, const float* threshold,
                              int64_t threshold_stride, uint16_t* y, cuda::Stream stream) {
  return Run(shape, x, threshold, threshold_stride, y, stream);
}

}  // namespace bnn
