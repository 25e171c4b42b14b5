// NEON: two positions by 32 output channels.
#include "kernels/product/arm_neon_vector.h"
#include "kernels/product/float_multiply.h"

namespace bnn::product {
namespace {

void Multiply(const Block& b) { FloatMultiplier<V4, 2>(b).Run(); }

}  // namespace

const Variant float_neon = {
    "float_neon",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    float_rows::PackedBytes,
    float_rows::Pack,
    float_rows::NoScratch,
    16,
    {1, 60.0, 170.0, 51.0, 9.4, 15.0},  // as in arm_neon_lanes.h, not measured
    Multiply,
};

}  // namespace bnn::product
