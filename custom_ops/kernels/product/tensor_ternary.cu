#include "kernels/product/tensor_bits.cuh"

namespace bnn::product {

cuda::Status LaunchTensorTernary(const TensorCall& call, int capability, cuda::Stream stream) {
  using Large = TensorTile<Codes::kTernary, 128, 64, 32, 3>;
  using Small = TensorTile<Codes::kTernary, 64, 32, 16, 4>;
  return LaunchTiles<Large, Small>(call, capability, stream);
}

}  // namespace bnn::product
