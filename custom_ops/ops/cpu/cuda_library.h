// Opens the CUDA library that lies beside this one.
#ifndef BNN_OPS_CPU_CUDA_LIBRARY_H_
#define BNN_OPS_CPU_CUDA_LIBRARY_H_

#include <string>

#include "ops/cuda/library.h"

namespace bnn::ops {

struct CudaLibrary {
  std::string error;  // why a library that is there cannot be used
  CudaOpsFunction ops = nullptr;
  CudaKernelsFunction kernels = nullptr;
};

// Returns the CUDA library; both functions are null if there is none or it has an error. It is
// opened once and never closed: sessions hold on to its ops.
const CudaLibrary& OpenCudaLibrary();

}  // namespace bnn::ops

#endif  // BNN_OPS_CPU_CUDA_LIBRARY_H_
