#include "kernels/product/tensor_bits.cuh"

namespace bnn::product {

cuda::Status LaunchTensorBinary(const TensorCall& call, int capability, cuda::Stream stream) {
  using Large = TensorTile<Codes::kBinary, 128, 128, 64, 3>;
  using Small = TensorTile<Codes::kBinary, 64, 64, 32, 4>;
  return LaunchTiles<Large, Small>(call, capability, stream);
}

}  // namespace bnn::product
