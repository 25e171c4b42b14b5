// What distinguishes the four products: positions of the inputs, attributes, shapes.
#ifndef BNN_OPS_PRODUCT_LAYOUT_H_
#define BNN_OPS_PRODUCT_LAYOUT_H_

#include "kernels/product/product.h"
#include "ort/attributes.h"
#include "ort/tensor.h"

namespace bnn::ops {

enum class ProductKind { kGemm, kConv };
enum class WeightKind { kBinary, kTernary };

// Positions of a product's inputs; the outputs are Y and Ybits.
struct ProductInputs {
  static constexpr size_t kX = 0, kW = 1, kWPos = 2, kWNeg = 3;  // the last two: ternary only
  size_t scale, bias, residual, slope, shift, threshold;

  explicit ProductInputs(WeightKind weights) {
    scale = weights == WeightKind::kTernary ? 4 : 2;
    bias = scale + 1;
    residual = scale + 2;
    slope = scale + 3;
    shift = scale + 4;
    threshold = scale + 5;
  }
};

// A product as its attributes describe it. Throws if an attribute is missing or out of range.
class ProductLayout {
 public:
  ProductLayout(ProductKind kind, WeightKind weights, const ort::Attributes& attributes);

  ProductKind kind() const { return kind_; }
  WeightKind weights() const { return weights_; }
  float acc_min() const { return acc_min_; }

  // Throws "attribute group: ..." unless groups of packed channels begin at a word.
  void CheckGroupsOfBits() const;

  // Returns the geometry for weights of this shape; types are left to the caller. Throws "input W:
  // ..." unless the weights fit the attributes.
  product::Shape WithWeights(const ort::Shape& w) const;

  // Throws "input X: ..." unless a tensor of this shape can be multiplied.
  void CheckInput(const ort::Shape& x, bool bits) const;

  // Returns the shape of Y; an unknown size is -1, a map smaller than the kernel gives 0.
  ort::Shape OutputShape(const ort::Shape& x, const product::Shape& geometry, bool bits) const;

 private:
  std::string ExpectedWeights() const;

  ProductKind kind_;
  WeightKind weights_;
  float acc_min_;
  product::Shape geometry_;  // all but out_channels and the kernel size
};

}  // namespace bnn::ops

#endif  // BNN_OPS_PRODUCT_LAYOUT_H_
