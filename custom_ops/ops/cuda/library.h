// The seam between the two libraries: what libbnndeploy_ops.so, which ONNX Runtime loads, calls in
// libbnndeploy_ops_cuda.so, which it opens. A domain comes from one library per session, so the
// first adds the ops of the second to its own.
#ifndef BNN_OPS_CUDA_LIBRARY_H_
#define BNN_OPS_CUDA_LIBRARY_H_

#include <cstddef>

#include "ort/abi.h"

namespace bnn::ops {

inline constexpr const char* kCudaLibraryFile = "libbnndeploy_ops_cuda.so";

// Returns the ops for the CUDA execution provider, which live as long as the library; calls nothing
// of CUDA. Its name ends in a number that is raised whenever ops, their inputs or this seam change:
// builds of two versions do not mix.
#define BNN_CUDA_OPS BnnDeployCudaOps1
using CudaOpsFunction = const ort::CustomOp* const* (*)(const ort::ApiBase* base, size_t* count);

// BnnDeployKernels: as in the first library, for the CUDA kernels.
using CudaKernelsFunction = const char* (*)();

}  // namespace bnn::ops

#endif  // BNN_OPS_CUDA_LIBRARY_H_
