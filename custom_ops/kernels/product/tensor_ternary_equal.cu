#include "kernels/product/tensor_tiles.cuh"

namespace bnn::product {

TensorKernels TensorTernaryEqual() { return KernelsFor<Codes::kTernaryEqual>(); }

}  // namespace bnn::product
