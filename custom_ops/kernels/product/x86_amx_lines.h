// AMX for convolutions: four tiles of positions by one of output channels.
//
// The rows of a block of positions overlap from tap to tap, so they come from the first-level cache
// however often they are read; each tile of weights serves 64 positions.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_LINES_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_LINES_H_

#include "kernels/product/x86_amx_panels.h"

namespace bnn::product {
namespace {

constexpr int64_t kTilesPerBlock = 4;  // accumulators; one tile of weights serves them all
constexpr int64_t kMinHeight = 9;      // loads of fewer rows are slow
constexpr int64_t kRingSteps = 8;      // panel of weights that are used once: small enough for L1

// Positions of a unit, cut into tiles of one height and blocks of up to kTilesPerBlock tiles. The
// last tile may overlap the one before.
struct Tiling {
  int64_t begin, count, tiles, height, blocks;

  Tiling(int64_t first, int64_t positions) : begin(first), count(positions) {
    tiles = (count + kTileRows - 1) / kTileRows;
    height = count < kMinHeight ? kTileRows : (count + tiles - 1) / tiles;
    blocks = (tiles + kTilesPerBlock - 1) / kTilesPerBlock;
  }
  // Relative to begin.
  int64_t TileBegin(int64_t tile) const {
    return tile == 0 ? 0 : tile >= tiles ? count : std::min(tile * height, count - height);
  }
};

using AmxFinisher = Finisher<V16, static_cast<int>(kHalf)>;

// Two panels and the row offset of every step.
inline int64_t LinePanelTiles(const Shape& s) { return Sums(s) * std::max(Steps(s), kRingSteps); }

inline size_t LineBytes(const Shape& s) {
  return static_cast<size_t>(2 * LinePanelTiles(s) * kTileBytes) +
         static_cast<size_t>(Steps(s)) * sizeof(int64_t);
}

template <Codes codes>
class LineMultiplier {
 public:
  explicit LineMultiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        tiling_(b.position_begin, b.position_end - b.position_begin),
        steps_(Steps(s_)),
        offsets_(reinterpret_cast<int64_t*>(b.scratch + 2 * LinePanelTiles(s_) * kTileBytes)) {
    panels_[0] = reinterpret_cast<int8_t*>(b.scratch);
    panels_[1] = panels_[0] + LinePanelTiles(s_) * kTileBytes;
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
    ConfigureTiles(tiling_.height, 1u << 4);  // tile 4 holds weights
    Piece piece = FirstPiece(2 * b_.strip_begin);
    ExpandPiece(piece, 1);
    while (piece.half >= 0) {
      expander_.Finish();
      std::swap(panels_[0], panels_[1]);
      const Piece next = Next(piece);
      if (next.half >= 0) ExpandPiece(next, 2 * tiling_.blocks * Tiles(piece));
      if (piece.sum == 0 && piece.begin == 0) BindFinisher(piece.half);
      RunPiece(piece);
      piece = next;
    }
    if (pending_ != nullptr) pending_->Finish();
    _tile_release();
  }

 private:
  static constexpr int64_t kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int64_t kSecond = kTilesPerBlock * kTileRows * kHalf;

  // What a panel holds, of 16 output channels. With several blocks of positions it is all steps of
  // all sums. One block keeps its sums in the tiles from piece to piece, which are then steps
  // begin ... end - 1 of one sum.
  struct Piece {
    int64_t half, sum, begin, end;  // half is -1 after the last piece
  };

  bool WholeHalves() const { return tiling_.blocks > 1; }

  int64_t Tiles(const Piece& piece) const {
    return WholeHalves() ? kSums * steps_ : piece.end - piece.begin;
  }

  Piece At(int64_t half, int64_t sum, int64_t begin) const {
    return {half, sum, begin, WholeHalves() ? steps_ : std::min(begin + kRingSteps, steps_)};
  }

  Piece FirstPiece(int64_t half) const { return At(half, 0, 0); }

  Piece Next(const Piece& piece) const {
    if (piece.end < steps_) return At(piece.half, piece.sum, piece.end);
    if (!WholeHalves() && piece.sum + 1 < kSums) return At(piece.half, piece.sum + 1, 0);
    int64_t half = piece.half + 1;
    if (half % 2 == 1 && StripAt(s_, half / 2).count <= kHalf) ++half;
    return half < 2 * b_.strip_end ? FirstPiece(half) : Piece{-1, 0, 0, 0};
  }

  void ExpandPiece(const Piece& piece, int64_t calls) {
    constexpr int64_t kMasks = codes == Codes::kTernaryEqual ? 2 : 1;
    const int64_t step = (piece.half * kSums + piece.sum) * steps_ + piece.begin;
    expander_.Start(reinterpret_cast<const uint64_t*>(b_.packed) + step * kTileRows * kMasks,
                    panels_[1], Tiles(piece) * kTileRows, calls);
  }

  // Outputs of the half before may still be pending, so two finishers take turns.
  void BindFinisher(int64_t half) {
    const Strip strip = StripAt(s_, half / 2);
    const int next = finisher_ == &finishers_[0] ? 1 : 0;
    epilogues_[next] = LoadStripEpilogue<V16>(b_, strip);
    finisher_ = &finishers_[next];
    finisher_->Bind(b_, strip, static_cast<int>(half % 2 * kHalf), &epilogues_[next]);
  }

  void RunPiece(const Piece& piece) {
    const int64_t group = StripAt(s_, piece.half / 2).group;
    const uint8_t* rows =
        b_.rows.base + (group * DepthBlocks(s_) * b_.rows.count + tiling_.begin) * kTileDepth;
    // Nearly equal blocks, the larger ones first.
    const int64_t least = tiling_.tiles / tiling_.blocks, larger = tiling_.tiles % tiling_.blocks;
    int64_t tile = 0;
    for (int64_t block = 0; block < tiling_.blocks; ++block) {
      const int64_t count = least + (block < larger ? 1 : 0);
      RunBlock(piece, rows, tile, count);
      tile += count;
    }
  }

  void RunBlock(const Piece& piece, const uint8_t* rows, int64_t tile, int64_t tiles) {
    const int64_t first = tiling_.TileBegin(tile);
    for (int64_t i = 0; i < kTilesPerBlock; ++i) {
      starts_[i] = tiling_.TileBegin(tile + std::min(i, tiles - 1)) - first;
    }
    rows += first * kTileDepth;
    const int64_t last_sum = WholeHalves() ? kSums : piece.sum + 1;
    for (int64_t sum = piece.sum; sum < last_sum; ++sum) {
      const int8_t* panel = panels_[0] + (sum - piece.sum) * steps_ * kTileBytes;
      int32_t* sums = sums_[turn_] + sum * kSecond;
      switch (tiles) {
        case 1:
          Accumulate<1>(rows, panel, piece.begin, piece.end, sums);
          break;
        case 2:
          Accumulate<2>(rows, panel, piece.begin, piece.end, sums);
          break;
        case 3:
          Accumulate<3>(rows, panel, piece.begin, piece.end, sums);
          break;
        default:
          Accumulate<4>(rows, panel, piece.begin, piece.end, sums);
          break;
      }
    }
    if (piece.end < steps_ || last_sum < kSums) return;
    if (pending_ != nullptr) pending_->Finish();
    finisher_->Start(sums_[turn_], kHalf, kSecond, tiling_.begin + first,
                     tiling_.TileBegin(tile + tiles) - first);
    pending_ = finisher_;
    turn_ ^= 1;
  }

  // Steps begin ... end - 1 of one sum for up to four tiles of positions.
  template <int kTiles>
  void Accumulate(const uint8_t* rows, const int8_t* panel, int64_t begin, int64_t end,
                  int32_t* sums) {
    const uint8_t* tile1 = rows + starts_[1] * kTileDepth;
    const uint8_t* tile2 = rows + starts_[2] * kTileDepth;
    const uint8_t* tile3 = rows + starts_[3] * kTileDepth;
    if (begin == 0) {
      _tile_zero(0);
      if (kTiles > 1) _tile_zero(1);
      if (kTiles > 2) _tile_zero(2);
      if (kTiles > 3) _tile_zero(3);
    }
    PanelExpander<codes> expander = expander_;  // a local copy stays in registers
    for (int64_t step = begin; step < end; ++step, panel += kTileBytes) {
      const int64_t offset = offsets_[step];
      _tile_loadd(4, panel, 64);
      _tile_loadd(5, rows + offset, kTileDepth);
      _tile_dpbssd(0, 5, 4);
      expander.Step();
      if (kTiles > 1) {
        _tile_loadd(6, tile1 + offset, kTileDepth);
        _tile_dpbssd(1, 6, 4);
      }
      if (kTiles > 2) {
        _tile_loadd(7, tile2 + offset, kTileDepth);
        _tile_dpbssd(2, 7, 4);
      }
      expander.Step();
      if (kTiles > 3) {
        _tile_loadd(5, tile3 + offset, kTileDepth);
        _tile_dpbssd(3, 5, 4);
      }
      if (pending_ != nullptr && !pending_->Step()) pending_ = nullptr;
    }
    expander_ = expander;
    if (end < steps_) return;
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

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_LINES_H_
