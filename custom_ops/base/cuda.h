// What launches of CUDA kernels have in common, without CUDA's own headers, so that ops and tests
// compile where there is no toolkit.
//
// A launch queues work on the stream and returns: it does not wait, allocate, or touch another
// stream, so it can be recorded in a CUDA graph. Pointers are to device memory. The result is a
// cudaError_t, 0 for success.
#ifndef BNN_BASE_CUDA_H_
#define BNN_BASE_CUDA_H_

// Of functions that the host and the device call.
#if defined(__CUDACC__)
#define BNN_BOTH __host__ __device__ __forceinline__
#else
#define BNN_BOTH inline
#endif

namespace bnn::cuda {

using Stream = void*;  // cudaStream_t
using Status = int;    // cudaError_t

}  // namespace bnn::cuda

#endif  // BNN_BASE_CUDA_H_
