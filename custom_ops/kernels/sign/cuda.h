// sign on a CUDA device; formula and layouts are those of sign.h, launches as in base/cuda.h.
#ifndef BNN_KERNELS_SIGN_CUDA_H_
#define BNN_KERNELS_SIGN_CUDA_H_

#include "base/cuda.h"
#include "kernels/sign/sign.h"

namespace bnn {

cuda::Status sign_f32_cuda(const float* x, float* y, int64_t count, cuda::Stream stream);
cuda::Status sign_f16_cuda(const uint16_t* x, uint16_t* y, int64_t count, cuda::Stream stream);

}  // namespace bnn

#endif  // BNN_KERNELS_SIGN_CUDA_H_
