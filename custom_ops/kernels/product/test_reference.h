// Plain loops over the definition of the products, sharing nothing with the kernels but the Shape.
#ifndef BNN_KERNELS_PRODUCT_TEST_REFERENCE_H_
#define BNN_KERNELS_PRODUCT_TEST_REFERENCE_H_

#include <string>
#include <vector>

#include "kernels/product/product.h"
#include "kernels/testing/testing.h"

namespace bnn::product {

// Everything one call needs, in memory of exactly the right size.
struct Case {
  Shape shape;
  int64_t batch = 1, height = 1, width = 1;
  int64_t out_h = 1, out_w = 1;
  std::vector<uint32_t> x_words;  // or
  std::vector<float> x_floats;    // float32, or rounded to halves
  std::vector<uint32_t> words;    // W
  std::vector<float> scale, bias, slope, shift, threshold, w_pos, w_neg;
  std::vector<float> residual;  // one element or as Y
  float acc_min = 0.0f;

  int64_t outputs() const { return batch * shape.out_channels * out_h * out_w; }
  std::string ToString() const;
};

// Fills in random values for a geometry. `whole` makes float X small integers, whose sums are exact
// in any order, and keeps the epilogue; else X is real-valued and the epilogue neutral.
Case MakeCase(const Shape& shape, int64_t batch, int64_t height, int64_t width, bool whole,
              testing::Random* random);

struct Outputs {
  std::vector<float> y;  // rounded to Shape::y
  std::vector<uint32_t> bits;
  std::vector<float> bound;  // float X: the largest error allowed before the epilogue
};

Outputs Reference(const Case& c);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TEST_REFERENCE_H_
