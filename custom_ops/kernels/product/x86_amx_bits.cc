// AMX int8: bits become bytes that tiles multiply, 16 positions x 64 channels x 16 outputs at once.
//
// Rows are bytes -1, 0 or +1, in planes of 64 channels, so that a tile of positions is one dense
// block of memory for every kernel tap. Weights stay bits and are expanded a panel ahead of the
// tile products; the epilogue runs a block of positions behind them. Both are fed to the core
// between the tile instructions, which leave the vector units idle.
#include "kernels/product/x86_amx_depth.h"
#include "kernels/product/x86_amx_lines.h"

namespace bnn::product {
namespace {

constexpr int64_t kMostSteps = 512;  // bounds the panels

bool Fits(const Shape& s) { return s.x == Element::kBits && Steps(s) <= kMostSteps; }

// ---- rows: [group][depth block][row][64] ----

int64_t RowBytes(const Shape& s) { return s.group * DepthBlocks(s) * kTileDepth; }

bool NeverDirect(const Shape&) { return false; }

uint64_t ValidChannels(const Shape& s, int64_t block) {
  const int64_t left = GroupChannels(s) - block * kTileDepth;
  return left >= kTileDepth ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
}

uint64_t LoadBits(const uint32_t* words, int64_t count) {
  uint64_t bits = words[0];
  if (count > 1) bits |= static_cast<uint64_t>(words[1]) << 32;
  return bits;
}

void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  const __m512i plus = _mm512_set1_epi8(1), minus = _mm512_set1_epi8(-1);
  for (int64_t g = 0; g < s.group; ++g) {
    for (int64_t block = 0; block < DepthBlocks(s); ++block) {
      const auto* words = static_cast<const uint32_t*>(pixels.x) + g * GroupWords(s) + 2 * block;
      const int64_t left = std::min<int64_t>(2, GroupWords(s) - 2 * block);
      const __mmask64 valid = ValidChannels(s, block);
      const int64_t plane = g * DepthBlocks(s) + block;
      uint8_t* row = rows.base + (plane * rows.count + first) * kTileDepth;
      for (int64_t i = 0; i < pixels.count; ++i, words += pixels.pixel_step, row += kTileDepth) {
        const __m512i value = _mm512_mask_blend_epi8(LoadBits(words, left), minus, plus);
        _mm512_store_si512(row, _mm512_maskz_mov_epi8(valid, value));
      }
    }
  }
}

void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  const __m512i value = _mm512_set1_epi8(static_cast<char>(s.pad_value));
  for (int64_t plane = 0; plane < s.group * DepthBlocks(s); ++plane) {
    const __m512i masked = _mm512_maskz_mov_epi8(ValidChannels(s, plane % DepthBlocks(s)), value);
    uint8_t* row = rows.base + (plane * rows.count + first) * kTileDepth;
    for (int64_t i = 0; i < count; ++i) _mm512_store_si512(row + i * kTileDepth, masked);
  }
}

// ---- weights: [strip][half][sum][step][tile row][mask] of 64 bits ----
// Bit 4*n + j of tile row r is the code of output n for channel 4*r + j of the depth block. Steps
// run over the depth blocks, and within them over the taps, whose rows overlap in the cache.

size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s) * 2 * Sums(s) * SumMasks(s)) * sizeof(uint64_t);
}

uint64_t NibbleAt(const uint32_t* words, int64_t length, int64_t channel) {
  if (channel >= length) return 0;
  return MaskedWord(words, channel / 32, length) >> (channel % 32) & 0xfu;
}

// Codes of one output channel and tap of a plane: to column `lane` of the tiles, mask `mask`.
void PackLane(const Shape& s, const uint32_t* words, int64_t tap, int64_t lane, int64_t mask,
              uint64_t* sum) {
  for (int64_t block = 0; block < DepthBlocks(s); ++block) {
    uint64_t* tile = sum + (block * Taps(s) + tap) * kTileRows * MasksPerRow(s);
    for (int64_t row = 0; row < kTileRows; ++row) {
      const uint64_t nibble = NibbleAt(words, GroupChannels(s), block * kTileDepth + 4 * row);
      tile[row * MasksPerRow(s) + mask] |= nibble << (4 * lane);
    }
  }
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes(s));
  auto* masks = reinterpret_cast<uint64_t*>(packed);
  for (int64_t index = 0; index < Strips(s); ++index) {
    const Strip strip = StripAt(s, index);
    for (int64_t lane = 0; lane < strip.count; ++lane) {
      uint64_t* half = masks + (2 * index + lane / kHalf) * Sums(s) * SumMasks(s);
      for (int64_t plane = 0; plane < Planes(s); ++plane) {
        const int64_t sum = Sums(s) == 2 ? plane : 0;
        const int64_t mask = MasksPerRow(s) == 2 ? plane : 0;
        for (int64_t tap = 0; tap < Taps(s); ++tap) {
          PackLane(s, TapWords(s, words, plane, strip.first + lane, tap), tap, lane % kHalf, mask,
                   half + sum * SumMasks(s));
        }
      }
    }
  }
}

size_t UnitBytes(const Shape& s) { return std::max(LineBytes(s), DepthBytes()); }

template <Codes codes>
void MultiplyCodes(const Block& b) {
  if (IsDeep(*b.shape) && b.position_end - b.position_begin > kTilesPerBlock * kTileRows) {
    DepthMultiplier<codes>(b).Run();
  } else {
    LineMultiplier<codes>(b).Run();
  }
}

void Multiply(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary:
      return MultiplyCodes<Codes::kBinary>(b);
    case Codes::kTernaryEqual:
      return MultiplyCodes<Codes::kTernaryEqual>(b);
    case Codes::kTernary:
      return LineMultiplier<Codes::kTernary>(b).Run();
  }
}

}  // namespace

const Variant bits_amx = {
    "bits_amx",
    Fits,
    RowBytes,
    NeverDirect,
    Expand,
    Fill,
    PackedBytes,
    Pack,
    UnitBytes,
    64,
    {16, 1010.0, 16.0, 0.62, 1.2, 3.1},
    Multiply,
};

}  // namespace bnn::product
