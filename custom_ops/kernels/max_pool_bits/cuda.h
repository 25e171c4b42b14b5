// max_pool_bits on a CUDA device; formula and layouts are those of max_pool_bits.h, launches as in
// base/cuda.h.
#ifndef BNN_KERNELS_MAX_POOL_BITS_CUDA_H_
#define BNN_KERNELS_MAX_POOL_BITS_CUDA_H_

#include "base/cuda.h"
#include "kernels/max_pool_bits/max_pool_bits.h"

namespace bnn {

// All `out_height` output rows of all images of a batch in one launch.
cuda::Status max_pool_bits_cuda(const MaxPoolBitsShape& shape, int64_t images, int64_t out_height,
                                const uint32_t* bits, const uint32_t* invert, uint32_t* y,
                                cuda::Stream stream);

}  // namespace bnn

#endif  // BNN_KERNELS_MAX_POOL_BITS_CUDA_H_
