#include "kernels/product/output_launch.cuh"

namespace bnn::product {

cuda::Status LaunchFloats(const Shape& s, const CudaCall& call, const Sizes& z,
                          cuda::Stream stream) {
  return LaunchWords<float>(s, call, z, stream);
}

}  // namespace bnn::product
