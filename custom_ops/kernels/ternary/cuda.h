// ternary on a CUDA device; formula and layouts are those of ternary.h, launches as in base/cuda.h.
#ifndef BNN_KERNELS_TERNARY_CUDA_H_
#define BNN_KERNELS_TERNARY_CUDA_H_

#include "base/cuda.h"
#include "kernels/ternary/ternary.h"

namespace bnn {

// x and y are [images, channels, positions]; the threshold of channel c is threshold[c * stride].
struct TernaryShape {
  int64_t images, channels, positions;
};

cuda::Status ternary_f32_cuda(const TernaryShape& shape, const float* x, const float* threshold,
                              int64_t threshold_stride, float* y, cuda::Stream stream);
cuda::Status ternary_f16_cuda(const TernaryShape& shape, const uint16_t* x, const float* threshold,
                              int64_t threshold_stride, uint16_t* y, cuda::Stream stream);

}  // namespace bnn

#endif  // BNN_KERNELS_TERNARY_CUDA_H_
