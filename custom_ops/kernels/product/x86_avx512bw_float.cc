// AVX-512: eight positions by 32 output channels.
#include "kernels/product/float_multiply.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

void Multiply(const Block& b) { FloatMultiplier<V16, 8>(b).Run(); }

}  // namespace

const Variant float_avx512bw = {
    "float_avx512bw",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    float_rows::PackedBytes,
    float_rows::Pack,
    float_rows::NoScratch,
    16,
    nullptr,
    Multiply,
};

}  // namespace bnn::product
