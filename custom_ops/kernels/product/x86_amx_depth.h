// AMX for deep products without taps: two tiles of positions by two of output channels.
//
// Here no row is read twice for the same outputs, and rows come from the second-level cache. So the
// depth is cut into pieces whose weights, expanded once, stay in the first-level cache while all
// positions pass by; two by two tiles halve what is read of the rows. Sums wait in memory between
// pieces.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_DEPTH_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_DEPTH_H_

#include "kernels/product/x86_amx_panels.h"

namespace bnn::product {
namespace {

constexpr int64_t kPieceSteps = 12;       // two panels of 2 * 12 KiB
constexpr int64_t kDeepChannels = 1024;   // from here on rows overflow the first-level cache
constexpr int64_t kDepthPositions = 512;  // whose sums wait at a time
constexpr int64_t kBlockPositions = 2 * kTileRows;

inline bool IsDeep(const Shape& s) {
  return Taps(s) == 1 && GroupChannels(s) >= kDeepChannels && s.codes != Codes::kTernary;
}

// Two panels of two tiles a step, and the sums.
inline size_t DepthBytes() {
  return static_cast<size_t>(4 * kPieceSteps * kTileBytes) +
         static_cast<size_t>((kDepthPositions + kBlockPositions) * kStrip) * sizeof(int32_t);
}

template <Codes codes>
class DepthMultiplier {
 public:
  explicit DepthMultiplier(const Block& b) : b_(b), s_(*b.shape), steps_(Steps(s_)) {
    panels_[0] = reinterpret_cast<int8_t*>(b.scratch);
    panels_[1] = panels_[0] + 2 * kPieceSteps * kTileBytes;
    sums_ = reinterpret_cast<int32_t*>(b.scratch + 4 * kPieceSteps * kTileBytes);
    const int64_t pieces = (steps_ + kPieceSteps - 1) / kPieceSteps;
    piece_steps_ = (steps_ + pieces - 1) / pieces;
  }

  void Run() {
    ConfigureTiles(kTileRows, 0);
    for (begin_ = b_.position_begin; begin_ < b_.position_end; begin_ += kDepthPositions) {
      count_ = std::min(b_.position_end - begin_, kDepthPositions);
      RunStrips();
    }
    _tile_release();
  }

 private:
  static constexpr int64_t kMasks = codes == Codes::kTernaryEqual ? 2 : 1;

  struct Piece {
    int64_t strip, begin, end;  // strip is -1 after the last piece
  };

  Piece At(int64_t strip, int64_t begin) const {
    return {strip, begin, std::min(begin + piece_steps_, steps_)};
  }

  Piece Next(const Piece& piece) const {
    if (piece.end < steps_) return At(piece.strip, piece.end);
    return piece.strip + 1 < b_.strip_end ? At(piece.strip + 1, 0) : Piece{-1, 0, 0};
  }

  void RunStrips() {
    const int64_t blocks = (count_ + kBlockPositions - 1) / kBlockPositions;
    Piece piece = At(b_.strip_begin, 0);
    Expand(piece, 1);
    while (piece.strip >= 0) {
      FinishExpansion();
      std::swap(panels_[0], panels_[1]);
      const Piece next = Next(piece);
      if (next.strip >= 0) Expand(next, blocks * (piece.end - piece.begin));
      if (piece.end == steps_) BindFinisher(piece.strip);
      for (int64_t block = 0; block < blocks; ++block) RunBlock(piece, block * kBlockPositions);
      piece = next;
    }
    FinishPending();
  }

  void Expand(const Piece& piece, int64_t calls) {
    const auto* masks = reinterpret_cast<const uint64_t*>(b_.packed);
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t step = (2 * piece.strip + half) * steps_ + piece.begin;
      expanders_[half].Start(masks + step * kTileRows * kMasks,
                             panels_[1] + half * kPieceSteps * kTileBytes,
                             (piece.end - piece.begin) * kTileRows, calls);
    }
  }

  void FinishExpansion() {
    expanders_[0].Finish();
    expanders_[1].Finish();
  }

  void FinishPending() {
    if (pending_) finisher_.Finish();
    pending_ = false;
  }

  // The outputs of the strip before are finished by then, but for those of its last block.
  void BindFinisher(int64_t strip_index) {
    FinishPending();
    const Strip strip = StripAt(s_, strip_index);
    epilogue_ = LoadStripEpilogue<V16>(b_, strip);
    finisher_.Bind(b_, strip, 0, &epilogue_);
  }

  // Adds a piece to the sums of 32 positions; those past the last one read rows beyond it.
  void RunBlock(const Piece& piece, int64_t position) {
    const int64_t group = StripAt(s_, piece.strip).group;
    const int64_t plane_bytes = b_.rows.count * kTileDepth;
    const uint8_t* rows = b_.rows.base + (group * steps_ + piece.begin) * plane_bytes +
                          (begin_ + position) * kTileDepth;
    // A block of 16 positions or less reads its rows twice instead of rows that are not there.
    const int64_t second = count_ - position > kTileRows ? kTileBytes : 0;
    int32_t* sums = sums_ + position * kStrip;
    LoadSums(piece.begin == 0, sums);
    const int8_t* panel = panels_[0];
    PanelExpander<codes> expander0 = expanders_[0], expander1 = expanders_[1];
    for (int64_t step = piece.begin; step < piece.end; ++step) {
      _tile_loadd(6, panel, 64);
      _tile_loadd(4, rows, kTileDepth);
      _tile_dpbssd(0, 4, 6);
      _tile_loadd(7, panel + kPieceSteps * kTileBytes, 64);
      _tile_dpbssd(1, 4, 7);
      expander0.Step();
      _tile_loadd(5, rows + second, kTileDepth);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
      expander1.Step();
      if (pending_) pending_ = finisher_.Step();
      panel += kTileBytes;
      rows += plane_bytes;
    }
    expanders_[0] = expander0;
    expanders_[1] = expander1;
    _tile_stored(0, sums, kStrip * 4);
    _tile_stored(1, sums + kHalf, kStrip * 4);
    _tile_stored(2, sums + kTileRows * kStrip, kStrip * 4);
    _tile_stored(3, sums + kTileRows * kStrip + kHalf, kStrip * 4);
    if (piece.end < steps_) return;
    FinishPending();
    finisher_.Start(sums, kStrip, 0, begin_ + position,
                    std::min(kBlockPositions, count_ - position));
    pending_ = true;
  }

  static void LoadSums(bool first, const int32_t* sums) {
    if (first) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      return;
    }
    _tile_loadd(0, sums, kStrip * 4);
    _tile_loadd(1, sums + kHalf, kStrip * 4);
    _tile_loadd(2, sums + kTileRows * kStrip, kStrip * 4);
    _tile_loadd(3, sums + kTileRows * kStrip + kHalf, kStrip * 4);
  }

  const Block& b_;
  const Shape& s_;
  const int64_t steps_;
  int64_t piece_steps_ = 0;
  int64_t begin_ = 0, count_ = 0;  // positions of the current chunk
  int8_t* panels_[2];              // being multiplied, being expanded
  int32_t* sums_;
  PanelExpander<codes> expanders_[2];
  StripEpilogue epilogue_;
  Finisher<V16, static_cast<int>(kStrip)> finisher_;
  bool pending_ = false;  // the finisher has outputs left
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_DEPTH_H_
