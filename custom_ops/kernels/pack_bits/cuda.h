// pack_bits on a CUDA device; formula and layouts are those of pack_bits.h, launches as in
// base/cuda.h.
#ifndef BNN_KERNELS_PACK_BITS_CUDA_H_
#define BNN_KERNELS_PACK_BITS_CUDA_H_

#include "base/cuda.h"
#include "kernels/pack_bits/pack_bits.h"

namespace bnn {

// All images of a batch in one launch.
cuda::Status pack_bits_f32_cuda(const PackBitsShape& shape, int64_t images, const float* x,
                                uint32_t* bits, cuda::Stream stream);
cuda::Status pack_bits_f16_cuda(const PackBitsShape& shape, int64_t images, const uint16_t* x,
                                uint32_t* bits, cuda::Stream stream);

}  // namespace bnn

#endif  // BNN_KERNELS_PACK_BITS_CUDA_H_
