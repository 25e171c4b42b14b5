#include "kernels/product/tensor_bits.cuh"

namespace bnn::product {

cuda::Status LaunchTensorTernaryEqual(const TensorCall& call, int capability, cuda::Stream stream) {
  using Large = TensorTile<Codes::kTernaryEqual, 128, 64, 32, 3>;
  using Small = TensorTile<Codes::kTernaryEqual, 64, 32, 16, 4>;
  return LaunchTiles<Large, Small>(call, capability, stream);
}

}  // namespace bnn::product
