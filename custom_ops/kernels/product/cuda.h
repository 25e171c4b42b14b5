// The four products on a CUDA device; formulas and layouts are those of product.h, launches as in
// base/cuda.h.
#ifndef BNN_KERNELS_PRODUCT_CUDA_H_
#define BNN_KERNELS_PRODUCT_CUDA_H_

#include "base/cuda.h"
#include "kernels/product/product.h"
#include "kernels/product/tensor_weights.h"

namespace bnn::product {

// One call. As product::Call with every pointer in device memory and no scratch.
struct CudaCall {
  int64_t batch, height, width;
  const void* x;
  const void* packed;  // a copy of what Pack wrote, aligned to kAlignment
  void* y;             // or null if not wanted
  uint32_t* ybits;     // or null if not wanted
  Epilogue epilogue;
};

// What the choice of a kernel asks of a device.
struct CudaDevice {
  int capability;  // compute capability, such as 90 for 9.0
  int multiprocessors;
};

// The kernels chosen for one node: by its shape and by the device.
class CudaProduct {
 public:
  static CudaProduct Select(const Shape& shape, const CudaDevice& device);

  // Name of the kernel for many positions.
  const char* name() const;

  // Readies the kernels on the current device; once, before the first launch there.
  cuda::Status Prepare() const;

  // Bytes that Pack writes.
  size_t packed_bytes() const;

  // Rearranges the canonical words, both in host memory, as Product::Pack.
  void Pack(const uint32_t* words, void* packed) const;

  // Queues the product. Nothing is queued for an empty batch.
  cuda::Status Launch(const CudaCall& call, cuda::Stream stream) const;

  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
  CudaDevice device_ = {};
  bool tensor_ = false;           // whether tensor cores serve calls of more than kFewPositions
  TensorWeights tensor_weights_;  // behind those of the kernel that serves the others
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_CUDA_H_
