#include "kernels/product/output_launch.cuh"

namespace bnn::product {

cuda::Status LaunchHalves(const Shape& s, const CudaCall& call, const Sizes& z,
                          cuda::Stream stream) {
  return LaunchWords<uint16_t>(s, call, z, stream);
}

}  // namespace bnn::product
