// Runs CUDA kernels on the host: what their source needs of CUDA, for the C++ compiler.
#ifndef BNN_HOST_CUDA_CUDA_ON_HOST_H_
#define BNN_HOST_CUDA_CUDA_ON_HOST_H_

#include "host_cuda/block.h"

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)

namespace bnn::host_cuda {

// Runs threads one after the other, which kernels that exchange nothing within a block allow.
template <typename Kernel, typename... Arguments>
void Launch(const Kernel& kernel, unsigned blocks, unsigned threads,
            const Arguments&... arguments) {
  block_index = {};
  for (; block_index.x < blocks; ++block_index.x) {
    for (thread_index.x = 0; thread_index.x < threads; ++thread_index.x) kernel(arguments...);
  }
}

}  // namespace bnn::host_cuda

#define blockIdx bnn::host_cuda::block_index
#define threadIdx bnn::host_cuda::thread_index

#endif  // BNN_HOST_CUDA_CUDA_ON_HOST_H_
