// Portable: 64 channels a popcount, four positions at a time.
#include <algorithm>

#include "kernels/product/words.h"

namespace bnn::product {
namespace {

using words::Plain;

// Rows that are X itself are aligned to words only.
uint64_t LoadLane(const uint8_t* at) {
  uint64_t lane;
  std::memcpy(&lane, at, sizeof lane);
  return lane;
}

template <Codes codes>
uint64_t Differing(uint64_t x, const uint64_t* lane) {
  if (codes == Codes::kBinary) return x ^ lane[0];
  if (codes == Codes::kTernaryEqual) return (x ^ lane[0]) & lane[kStrip];
  return ~x & lane[0];
}

constexpr int64_t kTapsAtOnce = 64;

// Where the rows of some taps lie, in bytes from those of the first position.
struct TapRows {
  const uint8_t* base;
  int64_t row_bytes;
  int64_t lanes;  // 64-bit words of a row and group
  int64_t taps;
  int64_t offsets[kTapsAtOnce];
};

// raw[position][sum][lane] += popcounts of some taps.
template <Codes codes, int kPositions>
void CountTaps(const TapRows& rows, const uint64_t* packed, int32_t* raw) {
  constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  for (int sum = 0; sum < kSums; ++sum) {
    for (int64_t lane = 0; lane < kStrip; ++lane) {
      int64_t count[kPositions] = {};
      const uint64_t* code = packed + sum * kStrip + lane;
      for (int64_t tap = 0; tap < rows.taps; ++tap) {
        const uint8_t* x = rows.base + rows.offsets[tap];
        for (int64_t i = 0; i < rows.lanes; ++i, x += 8, code += kPlanes * kStrip) {
          for (int p = 0; p < kPositions; ++p) {
            count[p] +=
                __builtin_popcountll(Differing<codes>(LoadLane(x + p * rows.row_bytes), code));
          }
        }
      }
      for (int p = 0; p < kPositions; ++p) {
        raw[(p * kSums + sum) * kStrip + lane] += static_cast<int32_t>(count[p]);
      }
    }
  }
}

// The first epilogue step, from sums[sums][kStrip].
void FirstStep(const Block& b, const Strip& strip, const int32_t* sums, float* acc) {
  for (int64_t i = 0; i < strip.count; ++i) {
    const auto sum = static_cast<float>(sums[i]);
    const float negative =
        b.shape->codes == Codes::kTernary ? static_cast<float>(sums[kStrip + i]) : 0.0f;
    acc[i] = b.shape->codes == Codes::kBinary
                 ? sum
                 : Scaled(b.call->epilogue, strip.first + i, sum, negative);
  }
}

// Turns counts raw[sums][kStrip] into sums and finishes.
void FinishPosition(const Block& b, const Strip& strip, const int32_t* header,
                    const words::Interior& interior, int64_t position, int32_t* raw) {
  if (!IsOutput(*b.plan, position)) return;
  for (int64_t i = 0; i < words::Sums(*b.shape) * kStrip; ++i) raw[i] = header[i] - 2 * raw[i];
  const int64_t line = position / b.plan->pitch, column = position % b.plan->pitch;
  if (!interior.Holds(line, column)) words::AddOutsideTaps(b, header, line, column, raw);
  float acc[kStrip];
  FirstStep(b, strip, raw, acc);
  Finish(b, strip, position, acc);
}

template <Codes codes, int kPositions>
void MultiplyPositions(const Block& b, const Strip& strip, const uint8_t* packed,
                       const words::Interior& interior, int64_t position) {
  const Shape& s = *b.shape;
  constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  const int64_t lanes = words::GroupLanes<Plain>(s);
  int32_t raw[kPositions * kSums * kStrip] = {};
  const auto* tap_codes = reinterpret_cast<const uint64_t*>(packed + words::HeaderBytes(s));
  TapRows rows;
  rows.row_bytes = words::RowBytes<Plain>(s);
  rows.lanes = lanes;
  rows.base = b.rows.base + position * rows.row_bytes + strip.group * lanes * 8;
  for (int64_t tap = 0; tap < Taps(s); tap += rows.taps) {
    rows.taps = std::min(kTapsAtOnce, Taps(s) - tap);
    for (int64_t i = 0; i < rows.taps; ++i) {
      const int64_t ky = (tap + i) / s.kernel_w, kx = (tap + i) % s.kernel_w;
      rows.offsets[i] = TapRow(*b.plan, ky, kx) * rows.row_bytes;
    }
    CountTaps<codes, kPositions>(rows, tap_codes + tap * lanes * Planes(s) * kStrip, raw);
  }
  const auto* header = reinterpret_cast<const int32_t*>(packed);
  for (int p = 0; p < kPositions; ++p) {
    FinishPosition(b, strip, header, interior, position + p, raw + p * kSums * kStrip);
  }
}

template <Codes codes>
void MultiplyStrips(const Block& b) {
  const words::Interior interior = words::FindInterior(*b.shape, *b.plan);
  for (int64_t index = b.strip_begin; index < b.strip_end; ++index) {
    const Strip strip = StripAt(*b.shape, index);
    const uint8_t* packed =
        b.packed + static_cast<size_t>(index) * words::StripBytes<Plain>(*b.shape);
    int64_t p = b.position_begin;
    for (; p + 4 <= b.position_end; p += 4)
      MultiplyPositions<codes, 4>(b, strip, packed, interior, p);
    for (; p < b.position_end; ++p) MultiplyPositions<codes, 1>(b, strip, packed, interior, p);
  }
}

void Multiply(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary:
      return MultiplyStrips<Codes::kBinary>(b);
    case Codes::kTernaryEqual:
      return MultiplyStrips<Codes::kTernaryEqual>(b);
    case Codes::kTernary:
      return MultiplyStrips<Codes::kTernary>(b);
  }
}

}  // namespace

const Variant bits_scalar = {
    "bits_scalar",
    words::Fits,
    words::RowBytes<Plain>,
    words::PlainDirect,
    words::Expand<Plain>,
    words::Fill<Plain>,
    words::PackedBytes<Plain>,
    words::Pack<Plain>,
    words::NoScratch,
    4,
    {1, 340.0, 0.0, 7.3, 0.0, 176.0},
    Multiply,
};

}  // namespace bnn::product
