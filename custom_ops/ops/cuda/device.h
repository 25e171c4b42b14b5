// What ops ask of CUDA while their kernel is created, and how they report its errors.
#ifndef BNN_OPS_CUDA_DEVICE_H_
#define BNN_OPS_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cuda.h"
#include "kernels/product/cuda.h"

namespace bnn::ops {

// Describes the session's device. ONNX Runtime makes that device current before it creates kernels
// and before each run.
product::CudaDevice CurrentDevice();

// Copies and waits until that is done. ONNX Runtime may keep an initializer in either memory.
void CopyToHost(void* to, const void* from, size_t bytes);
void CopyToDevice(void* to, const void* from, size_t bytes);

// Returns `count` values, which may be in device memory.
template <typename T>
std::vector<T> ReadValues(const T* from, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  CopyToHost(values.data(), from, values.size() * sizeof(T));
  return values;
}

// Throws the message of an error; `what` says what was tried.
void CheckCuda(cuda::Status status, const char* what);

inline void CheckLaunch(cuda::Status status) { CheckCuda(status, "launching its kernel"); }

}  // namespace bnn::ops

#endif  // BNN_OPS_CUDA_DEVICE_H_
