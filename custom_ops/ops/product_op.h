// The one implementation of XnorGemm, XnorConv, TernaryGemm and TernaryConv.
#ifndef BNN_OPS_PRODUCT_OP_H_
#define BNN_OPS_PRODUCT_OP_H_

#include <memory>

#include "ops/product_layout.h"
#include "ort/adaptor.h"

namespace bnn::ops {

std::unique_ptr<ort::Kernel> CreateProduct(ProductKind kind, WeightKind weights,
                                           const ort::Node& node);

void InferProduct(ProductKind kind, WeightKind weights, const ort::Inference& inference);

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_OP_H_
