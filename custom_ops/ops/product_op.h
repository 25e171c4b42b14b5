// XnorGemm, XnorConv, TernaryGemm and TernaryConv up to their kernels: what a node and a run must
// bring, for every execution provider.
#ifndef BNN_OPS_PRODUCT_OP_H_
#define BNN_OPS_PRODUCT_OP_H_

#include <optional>

#include "ops/product_layout.h"
#include "ops/product_vectors.h"
#include "ort/adaptor.h"

namespace bnn::ops {

class ProductOp : public ort::Kernel {
 public:
  ProductOp(ProductKind kind, WeightKind weights, const ort::Node& node);

 protected:
  // One run: inputs that fit, outputs that are allocated. A matrix product is one of `batch` = M
  // images of one pixel.
  struct Arguments {
    const void* x;
    int64_t batch, height, width;
    product::Epilogue epilogue;
    void* y;          // null if not wanted
    uint32_t* ybits;  // null if not wanted
  };

  bool bits() const { return x_type_ == ort::Type::kUint32; }
  const ProductVectors& vectors() const { return vectors_; }

  // Returns the product of weights of this shape; throws unless they fit the attributes.
  product::Shape ShapeFor(const ort::Shape& w) const;

  // Checks the inputs of a run and allocates its outputs.
  Arguments Prepare(const ort::Run& run, const product::Shape& shape) const;

 private:
  void ReadResidual(const ort::Run& run, const ort::Shape& y, product::Epilogue* epilogue) const;

  ProductLayout layout_;
  ProductInputs inputs_;
  ort::Type x_type_, y_type_;
  bool wants_y_, wants_ybits_;
  ProductVectors vectors_;
  std::optional<ort::Tensor> constant_residual_;
};

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_OP_H_
