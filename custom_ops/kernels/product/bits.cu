#include "kernels/product/output_launch.cuh"

namespace bnn::product {

cuda::Status LaunchBits(const Shape& s, const CudaCall& call, const Sizes& z, cuda::Stream stream) {
  return LaunchWords<uint32_t>(s, call, z, stream);
}

}  // namespace bnn::product
