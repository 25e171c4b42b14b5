// AVX-512: by table where there are many output channels, by adding what ternary codes select where
// there are few, else eight positions by 32 channels.
#include "kernels/product/float_multiply.h"
#include "kernels/product/x86_avx512_vector.h"
#include "kernels/product/x86_avx512bw_sparse.h"
#include "kernels/product/x86_avx512bw_table.h"

namespace bnn::product {
namespace {

enum class Way : uint8_t { kTable, kSparse, kDense };

Way WayOf(const Shape& s) {
  return table::Pays(s) ? Way::kTable : sparse::Pays(s) ? Way::kSparse : Way::kDense;
}

bool IsSparse(const Shape& s) { return WayOf(s) == Way::kSparse; }

void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  return IsSparse(s) ? sparse::Expand(s, rows, first, pixels)
                     : float_rows::Expand(s, rows, first, pixels);
}

void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  return IsSparse(s) ? sparse::Fill(s, rows, first, count)
                     : float_rows::Fill(s, rows, first, count);
}

size_t PackedBytes(const Shape& s) {
  switch (WayOf(s)) {
    case Way::kTable:
      return table::PackedBytes(s);
    case Way::kSparse:
      return sparse::PackedBytes(s);
    default:
      return float_rows::PackedBytes(s);
  }
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  switch (WayOf(s)) {
    case Way::kTable:
      return table::Pack(s, words, packed);
    case Way::kSparse:
      return sparse::Pack(s, words, packed);
    default:
      return float_rows::Pack(s, words, packed);
  }
}

size_t UnitBytes(const Shape& s) {
  switch (WayOf(s)) {
    case Way::kTable:
      return table::UnitBytes(s);
    case Way::kSparse:
      return sparse::UnitBytes(s);
    default:
      return 0;
  }
}

double CostWords(const Shape& s) {
  if (IsSparse(s)) return sparse::CostWords(s);
  return static_cast<double>(Strips(s) * GroupWords(s) * Taps(s) * Planes(s));
}

void Multiply(const Block& b) {
  switch (WayOf(*b.shape)) {
    case Way::kTable:
      return table::Multiply(b);
    case Way::kSparse:
      return sparse::Multiplier(b).Run();
    default:
      return FloatMultiplier<V16, 8>(b).Run();
  }
}

}  // namespace

const Variant float_avx512bw = {
    "float_avx512bw",
    float_rows::Fits,
    float_rows::RowBytes,
    float_rows::Direct,
    Expand,
    Fill,
    PackedBytes,
    Pack,
    UnitBytes,
    16,
    {1, 930.0, 0.0, 19.2, 2.2, 3.6},
    Multiply,
    nullptr,
    table::Pays,
    IsSparse,
    CostWords,
};

}  // namespace bnn::product
