// unpack_bits on a CUDA device; formula and layouts are those of unpack_bits.h, launches as in
// base/cuda.h.
#ifndef BNN_KERNELS_UNPACK_BITS_CUDA_H_
#define BNN_KERNELS_UNPACK_BITS_CUDA_H_

#include "base/cuda.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {

// All images of a batch in one launch.
cuda::Status unpack_bits_f32_cuda(const UnpackBitsShape& shape, int64_t images,
                                  const uint32_t* bits, float* y, cuda::Stream stream);

}  // namespace bnn

#endif  // BNN_KERNELS_UNPACK_BITS_CUDA_H_
