// AVX-512: by table where there are many output channels, else eight positions by 32 channels.
#include "kernels/product/float_multiply.h"
#include "kernels/product/x86_avx512_vector.h"
#include "kernels/product/x86_avx512bw_table.h"

namespace bnn::product {
namespace {

size_t PackedBytes(const Shape& s) {
  return table::Pays(s) ? table::PackedBytes(s) : float_rows::PackedBytes(s);
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  return table::Pays(s) ? table::Pack(s, words, packed) : float_rows::Pack(s, words, packed);
}

size_t UnitBytes(const Shape& s) { return table::Pays(s) ? table::UnitBytes(s) : 0; }

void Multiply(const Block& b) {
  if (table::Pays(*b.shape)) {
    table::Multiply(b);
  } else {
    FloatMultiplier<V16, 8>(b).Run();
  }
}

}  // namespace

const Variant float_avx512bw = {
    "float_avx512bw",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    float_rows::Expand,
    float_rows::Fill,
    PackedBytes,
    Pack,
    UnitBytes,
    16,
    {1, 990.0, 0.0, 18.8, 4.0, 2.5},
    Multiply,
    nullptr,
    table::Pays,
};

}  // namespace bnn::product
