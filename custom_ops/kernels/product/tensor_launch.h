// Launches of the kernels on tensor cores, one source file for each kind of codes or type of X, so
// that they compile side by side.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_LAUNCH_H_
#define BNN_KERNELS_PRODUCT_TENSOR_LAUNCH_H_

#include "kernels/product/epilogue.cuh"
#include "kernels/product/tensor_weights.h"

namespace bnn::product {

// Tells whether tensor cores can serve a product: bits without pad bits, groups of whole words.
bool FitsTensorBits(const Shape& s);

// Tells whether they can serve real values on a device: groups of whole words of outputs.
bool FitsTensorFloats(const Shape& s, const CudaDevice& device);

void PackTensorWeights(const Shape& s, const uint32_t* words, const TensorWeights& w, void* packed);

cuda::Status PrepareTensorBits(const Shape& s, const CudaDevice& device);
cuda::Status LaunchTensorBits(const Shape& s, const CudaCall& call, const Sizes& z,
                              const TensorWeights& w, const CudaDevice& device,
                              cuda::Stream stream);

cuda::Status PrepareTensorFloats(const Shape& s);
cuda::Status LaunchTensorFloats(const Shape& s, const CudaCall& call, const Sizes& z,
                                const TensorWeights& w, cuda::Stream stream);

// For one kind of codes.
struct TensorKernels {
  cuda::Status (*prepare)(const CudaDevice& device);
  cuda::Status (*launch)(const Shape& s, const CudaCall& call, const Sizes& z,
                         const TensorWeights& w, const CudaDevice& device, cuda::Stream stream);
};
TensorKernels TensorBinary();
TensorKernels TensorTernary();
TensorKernels TensorTernaryEqual();

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_LAUNCH_H_
