// AVX2: two positions by 32 output channels.
#include "kernels/product/float_multiply.h"
#include "kernels/product/x86_avx2_vector.h"

namespace bnn::product {
namespace {

void Multiply(const Block& b) { FloatMultiplier<V8, 2>(b).Run(); }

}  // namespace

const Variant float_avx2 = {
    "float_avx2",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    float_rows::PackedBytes,
    float_rows::Pack,
    float_rows::NoScratch,
    16,
    {1, 640.0, 140.0, 44.0, 0.0, 12.0},
    Multiply,
};

}  // namespace bnn::product
