#include "kernels/product/tensor_tiles.cuh"

namespace bnn::product {

TensorKernels TensorTernary() { return KernelsFor<Codes::kTernary>(); }

}  // namespace bnn::product
