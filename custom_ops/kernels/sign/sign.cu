#include "base/cuda_kernel.h"
#include "kernels/sign/cuda.h"

namespace bnn {
namespace {

template <typename T>
struct SignOf {
  const T* x;
  T* y;

  BNN_DEVICE void operator()(int64_t i) const {
    cuda::Round(cuda::ToFloat(x[i]) >= 0.0f ? 1.0f : -1.0f, &y[i]);
  }
};

}  // namespace

cuda::Status sign_f32_cuda(const float* x, float* y, int64_t count, cuda::Stream stream) {
  return cuda::ForEach(SignOf<float>{x, y}, count, stream);
}

cuda::Status sign_f16_cuda(const uint16_t* x, uint16_t* y, int64_t count, cuda::Stream stream) {
  return cuda::ForEach(SignOf<uint16_t>{x, y}, count, stream);
}

}  // namespace bnn
