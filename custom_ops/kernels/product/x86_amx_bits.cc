// AMX int8: bits become bytes that tiles multiply, 16 positions x 64 channels x 16 outputs at once.
//
// Rows are bytes -1, 0 or +1, in planes of 64 channels, so that a tile of positions is one dense
// block of memory for every kernel tap. Weights stay bits and are expanded a panel ahead of the tile
// products; the epilogue runs a block of positions behind them. Both are fed to the core between the
// tile instructions, which leave the vector units idle.
#include <immintrin.h>

#include <algorithm>

#include "kernels/product/vector_finish.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileDepth = 64;       // channels of a step
constexpr int64_t kTileBytes = 1024;
constexpr int64_t kHalf = 16;            // output channels of a tile
constexpr int64_t kTilesPerBlock = 4;    // accumulators; one tile of weights serves them all
constexpr int64_t kMinHeight = 9;        // loads of fewer rows are slow
constexpr int64_t kMostSteps = 512;      // bounds the panels
constexpr int64_t kLeastPositions = 24;  // counting bits is faster below (docs/performance.md)
constexpr int64_t kRingSteps = 8;        // panel of weights that are used once: small enough for L1

int64_t DepthBlocks(const Shape& s) { return (GroupChannels(s) + kTileDepth - 1) / kTileDepth; }
int64_t Steps(const Shape& s) { return DepthBlocks(s) * Taps(s); }
int64_t Sums(const Shape& s) { return s.codes == Codes::kTernary ? 2 : 1; }
int64_t MasksPerRow(const Shape& s) { return s.codes == Codes::kTernaryEqual ? 2 : 1; }

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
    const __m512i masked =
        _mm512_maskz_mov_epi8(ValidChannels(s, plane % DepthBlocks(s)), value);
    uint8_t* row = rows.base + (plane * rows.count + first) * kTileDepth;
    for (int64_t i = 0; i < count; ++i) _mm512_store_si512(row + i * kTileDepth, masked);
  }
}

// ---- weights: [strip][half][sum][step][tile row][mask] of 64 bits ----
// Bit 4*n + j of tile row r is the code of output n for channel 4*r + j of the depth block. Steps
// run over the depth blocks, and within them over the taps, whose rows overlap in the cache.

int64_t SumMasks(const Shape& s) { return Steps(s) * kTileRows * MasksPerRow(s); }

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

// Expands masks to tile rows of bytes, some rows a call.
template <Codes codes>
class PanelExpander {
 public:
  void Start(const uint64_t* masks, int8_t* panel, int64_t rows, int64_t calls) {
    masks_ = masks;
    panel_ = panel;
    left_ = rows;
    quota_ = (rows + calls * kUnroll - 1) / (calls * kUnroll) * kUnroll;
  }

  void Step() { Rows(std::min(quota_, left_)); }
  void Finish() { Rows(left_); }

 private:
  static constexpr int64_t kUnroll = 4;

  static __m512i Bytes(const uint64_t* masks) {
    const __m512i plus = _mm512_set1_epi8(1);
    if (codes == Codes::kBinary) {
      return _mm512_mask_blend_epi8(masks[0], _mm512_set1_epi8(-1), plus);
    }
    if (codes == Codes::kTernary) return _mm512_maskz_mov_epi8(masks[0], plus);
    return _mm512_mask_mov_epi8(_mm512_movm_epi8(masks[1]), masks[0], plus);
  }

  // `count` is a multiple of kUnroll, as the rows of a tile are.
  void Rows(int64_t count) {
    constexpr int64_t kMasks = codes == Codes::kTernaryEqual ? 2 : 1;
    for (int64_t i = 0; i < count; i += kUnroll) {
      for (int64_t j = 0; j < kUnroll; ++j) {
        _mm512_store_si512(panel_ + 64 * j, Bytes(masks_ + kMasks * j));
      }
      masks_ += kMasks * kUnroll;
      panel_ += 64 * kUnroll;
    }
    left_ -= count;
  }

  const uint64_t* masks_ = nullptr;
  int8_t* panel_ = nullptr;
  int64_t left_ = 0, quota_ = 0;
};

// ---- product ----

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0-3 accumulate, 5-7 hold positions, 4 holds weights.
void ConfigureTiles(int64_t height) {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = static_cast<uint8_t>(i == 4 ? kTileRows : height);
  }
  // GCC 12 does not know that the instruction reads the structure.
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

// Positions of a unit cut into tiles of one height and blocks of up to kTilesPerBlock tiles. The
// last tile may overlap the one before.
struct Tiling {
  int64_t begin, count, tiles, height, blocks;

  Tiling(int64_t first, int64_t positions) : begin(first), count(positions) {
    tiles = (count + kTileRows - 1) / kTileRows;
    height = count < kMinHeight ? kTileRows : (count + tiles - 1) / tiles;
    blocks = (tiles + kTilesPerBlock - 1) / kTilesPerBlock;
  }
  int64_t FirstTile(int64_t block) const { return tiles * block / blocks; }
  // Relative to begin.
  int64_t TileBegin(int64_t tile) const {
    return tile == 0 ? 0 : tile >= tiles ? count : std::min(tile * height, count - height);
  }
};

using AmxFinisher = Finisher<V16, static_cast<int>(kHalf)>;

int64_t PanelTiles(const Shape& s) { return Sums(s) * std::max(Steps(s), kRingSteps); }

// Two panels and the row offset of every step.
size_t UnitBytes(const Shape& s) {
  return static_cast<size_t>(2 * PanelTiles(s) * kTileBytes) +
         static_cast<size_t>(Steps(s)) * sizeof(int64_t);
}

template <Codes codes>
class Multiplier {
 public:
  explicit Multiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        tiling_(b.position_begin, b.position_end - b.position_begin),
        steps_(Steps(s_)),
        offsets_(reinterpret_cast<int64_t*>(b.scratch + 2 * PanelTiles(s_) * kTileBytes)) {
    panels_[0] = reinterpret_cast<int8_t*>(b.scratch);
    panels_[1] = panels_[0] + PanelTiles(s_) * kTileBytes;
    int64_t* offset = offsets_;
    for (int64_t block = 0; block < DepthBlocks(s_); ++block) {
      for (int64_t ky = 0; ky < s_.kernel_h; ++ky) {
        for (int64_t kx = 0; kx < s_.kernel_w; ++kx) {
          *offset++ = (block * b.rows.count + TapRow(*b.plan, ky, kx)) * kTileDepth;
        }
      }
    }
  }

  void Run() {
    ConfigureTiles(tiling_.height);
    Piece piece = FirstPiece(2 * b_.strip_begin);
    ExpandPiece(piece, 1);
    expander_.Finish();
    while (piece.half >= 0) {
      std::swap(panels_[0], panels_[1]);
      const Piece next = Next(piece);
      if (next.half >= 0) ExpandPiece(next, tiling_.blocks * (piece.end - piece.begin));
      if (piece.begin == 0) BindFinisher(piece.half);
      for (int64_t block = 0; block < tiling_.blocks; ++block) RunBlock(piece, block);
      expander_.Finish();
      piece = next;
    }
    if (pending_ != nullptr) pending_->Finish();
    _tile_release();
  }

 private:
  static constexpr int64_t kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int64_t kSecond = kTilesPerBlock * kTileRows * kHalf;

  // Steps begin ... end - 1 of the sums of 16 output channels: what a panel holds. Where there are
  // several blocks of positions each piece is all steps; one block keeps its sums in the tiles
  // from piece to piece.
  struct Piece {
    int64_t half, begin, end;  // half is -1 after the last piece
  };

  Piece FirstPiece(int64_t half) const { return {half, 0, PieceEnd(0)}; }

  int64_t PieceEnd(int64_t begin) const {
    if (tiling_.blocks > 1) return kSums * steps_;
    return std::min(begin + kRingSteps, (begin / steps_ + 1) * steps_);
  }

  Piece Next(const Piece& piece) const {
    if (piece.end < kSums * steps_) return {piece.half, piece.end, PieceEnd(piece.end)};
    int64_t half = piece.half + 1;
    if (half % 2 == 1 && StripAt(s_, half / 2).count <= kHalf) ++half;
    return half < 2 * b_.strip_end ? FirstPiece(half) : Piece{-1, 0, 0};
  }

  void ExpandPiece(const Piece& piece, int64_t calls) {
    constexpr int64_t kMasks = codes == Codes::kTernaryEqual ? 2 : 1;
    const int64_t step = piece.half * kSums * steps_ + piece.begin;
    expander_.Start(reinterpret_cast<const uint64_t*>(b_.packed) + step * kTileRows * kMasks,
                    panels_[1], (piece.end - piece.begin) * kTileRows, calls);
  }

  // Outputs of the half before may still be pending, so two finishers take turns.
  void BindFinisher(int64_t half) {
    const Strip strip = StripAt(s_, half / 2);
    const int next = finisher_ == &finishers_[0] ? 1 : 0;
    epilogues_[next] = LoadStripEpilogue(b_, strip);
    finisher_ = &finishers_[next];
    finisher_->Bind(b_, strip, static_cast<int>(half % 2 * kHalf), &epilogues_[next]);
  }

  void RunBlock(const Piece& piece, int64_t block) {
    const int64_t tile = tiling_.FirstTile(block), end = tiling_.FirstTile(block + 1);
    const int64_t first = tiling_.TileBegin(tile);
    for (int64_t i = 0; i < kTilesPerBlock; ++i) {
      starts_[i] = tiling_.TileBegin(std::min(tile + i, end - 1)) - first;
    }
    const int64_t group = StripAt(s_, piece.half / 2).group;
    const uint8_t* rows =
        b_.rows.base +
        (group * DepthBlocks(s_) * b_.rows.count + tiling_.begin + first) * kTileDepth;
    for (int64_t begin = piece.begin; begin < piece.end;) {
      const int64_t stop = std::min(piece.end, (begin / steps_ + 1) * steps_);
      switch (end - tile) {
        case 1: Accumulate<1>(rows, piece, begin, stop); break;
        case 2: Accumulate<2>(rows, piece, begin, stop); break;
        case 3: Accumulate<3>(rows, piece, begin, stop); break;
        default: Accumulate<4>(rows, piece, begin, stop); break;
      }
      begin = stop;
    }
    if (piece.end < kSums * steps_) return;
    if (pending_ != nullptr) pending_->Finish();
    const int64_t last = std::min(tiling_.TileBegin(end), tiling_.count);
    finisher_->Start(sums_[turn_], kHalf, kSecond, tiling_.begin + first, last - first);
    pending_ = finisher_;
    turn_ ^= 1;
  }

  // Steps begin ... end - 1, all of one sum, for up to four tiles of positions.
  template <int kTiles>
  void Accumulate(const uint8_t* rows, const Piece& piece, int64_t begin, int64_t end) {
    const uint8_t* tile1 = rows + starts_[1] * kTileDepth;
    const uint8_t* tile2 = rows + starts_[2] * kTileDepth;
    const uint8_t* tile3 = rows + starts_[3] * kTileDepth;
    const int8_t* panel = panels_[0] + (begin - piece.begin) * kTileBytes;
    const int64_t* offsets = offsets_ + begin % steps_;
    if (begin % steps_ == 0) {
      _tile_zero(0);
      if (kTiles > 1) _tile_zero(1);
      if (kTiles > 2) _tile_zero(2);
      if (kTiles > 3) _tile_zero(3);
    }
    PanelExpander<codes> expander = expander_;  // a local copy stays in registers
    for (int64_t step = 0; step < end - begin; ++step, panel += kTileBytes) {
      const int64_t offset = offsets[step];
      _tile_loadd(4, panel, 64);
      _tile_loadd(5, rows + offset, kTileDepth);
      _tile_dpbssd(0, 5, 4);
      if (kTiles > 1) {
        _tile_loadd(6, tile1 + offset, kTileDepth);
        _tile_dpbssd(1, 6, 4);
      }
      if (kTiles > 2) {
        _tile_loadd(7, tile2 + offset, kTileDepth);
        _tile_dpbssd(2, 7, 4);
      }
      if (kTiles > 3) {
        _tile_loadd(5, tile3 + offset, kTileDepth);
        _tile_dpbssd(3, 5, 4);
      }
      expander.Step();
      if (pending_ != nullptr && !pending_->Step()) pending_ = nullptr;
    }
    expander_ = expander;
    if (end % steps_ != 0) return;
    int32_t* sums = sums_[turn_] + (end / steps_ - 1) * kSecond;
    _tile_stored(0, sums, kHalf * 4);
    if (kTiles > 1) _tile_stored(1, sums + starts_[1] * kHalf, kHalf * 4);
    if (kTiles > 2) _tile_stored(2, sums + starts_[2] * kHalf, kHalf * 4);
    if (kTiles > 3) _tile_stored(3, sums + starts_[3] * kHalf, kHalf * 4);
  }

  const Block& b_;
  const Shape& s_;
  const Tiling tiling_;
  const int64_t steps_;
  int64_t* offsets_;
  int8_t* panels_[2];  // being multiplied, being expanded
  PanelExpander<codes> expander_;
  StripEpilogue epilogues_[2];
  AmxFinisher finishers_[2];
  AmxFinisher* finisher_ = nullptr;  // of the current half
  AmxFinisher* pending_ = nullptr;   // has outputs left to finish
  int64_t turn_ = 0;                 // which sums the current block uses
  int64_t starts_[kTilesPerBlock];   // of its tiles, in positions
  alignas(64) int32_t sums_[2][kSums * kSecond];
};

void Multiply(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary: return Multiplier<Codes::kBinary>(b).Run();
    case Codes::kTernaryEqual: return Multiplier<Codes::kTernaryEqual>(b).Run();
    case Codes::kTernary: return Multiplier<Codes::kTernary>(b).Run();
  }
}

}  // namespace

const Variant bits_amx = {
    "bits_amx", Fits,   RowBytes, NeverDirect, Expand,   Fill,
    PackedBytes, Pack, UnitBytes, 64,          kLeastPositions, Multiply,
};

}  // namespace bnn::product
