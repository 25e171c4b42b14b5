#include "kernels/product/tensor_tiles.cuh"

namespace bnn::product {

TensorKernels TensorBinary() { return KernelsFor<Codes::kBinary>(); }

}  // namespace bnn::product
