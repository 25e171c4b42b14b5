// Real-valued X times codes in bf16 tiles: 16 positions by 64 output channels at once.
//
// The depth is cut into pieces whose weights, expanded once, stay in the first-level cache while a
// chunk of positions passes by; sums wait in memory between pieces. While a piece is multiplied, the
// next one is expanded and the epilogue of the block of positions before is applied, both fed to the
// core between tile instructions, which leave the vector units idle.
//
// A panel is 32 sums: a strip, or one plane of a strip where the planes have scales of their own.
// Two panels take one tile of positions; a last one by itself takes two.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_

#include "kernels/product/x86_amx_float_join.h"
#include "kernels/product/x86_amx_float_panels.h"

namespace bnn::product {
namespace {
namespace amx_float {

constexpr int64_t kPieceSteps = 5;        // two buffers of 5 * 4 KiB
constexpr int64_t kChunk = 256;           // positions whose sums wait at a time
constexpr int64_t kJoinedChunk = 128;     // whose rows wait too
constexpr int64_t kBlock = 2 * kTileRows;  // most positions at once
constexpr int64_t kPanelBytes = 2 * kTileBytes;  // of a step

inline int64_t Steps(const Shape& s) {
  return Joins(s) ? JoinedSteps(s) : Taps(s) * GroupWords(s);
}

inline size_t SumBytes() {
  return static_cast<size_t>((kChunk + kBlock) * 2 * kStrip) * sizeof(float);
}

inline size_t UnitBytes(const Shape& s) {
  const int64_t rows = Joins(s) ? JoinedSteps(s) * Parts(s) * (kJoinedChunk + kBlock) : 0;
  return static_cast<size_t>(4 * kPieceSteps * kPanelBytes + rows * kRowBytes) + SumBytes();
}

template <Codes codes, int kParts>
class Multiplier {
 public:
  explicit Multiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        joins_(Joins(s_)),
        steps_(Steps(s_)),
        part_bytes_(joins_ ? (kJoinedChunk + kBlock) * kRowBytes : b.rows.count * kRowBytes) {
    panels_[0] = b.scratch;
    panels_[1] = panels_[0] + 2 * kPieceSteps * kPanelBytes;
    sums_ = reinterpret_cast<float*>(panels_[1] + 2 * kPieceSteps * kPanelBytes);
    joined_ = reinterpret_cast<uint8_t*>(sums_) + SumBytes();
    const int64_t pieces = (steps_ + kPieceSteps - 1) / kPieceSteps;
    piece_steps_ = (steps_ + pieces - 1) / pieces;
  }

  void Run() {
    ConfigureTiles(kTileRows, 0);
    const int64_t chunk = joins_ ? kJoinedChunk : kChunk;
    for (begin_ = b_.position_begin; begin_ < b_.position_end; begin_ += chunk) {
      count_ = std::min(b_.position_end - begin_, chunk);
      joined_group_ = -1;
      RunStrips();
    }
    _tile_release();
  }

 private:
  struct Piece {
    int64_t strip, group, panels, begin, end;  // strip is -1 after the last piece
  };

  // Steps begin ... of the panels that begin with a strip.
  Piece At(int64_t strip, int64_t begin) const {
    const int64_t group = strip / GroupStrips(s_);
    const bool next = strip + 1 < b_.strip_end && (strip + 1) / GroupStrips(s_) == group;
    const int64_t panels = codes == Codes::kTernary || next ? 2 : 1;
    return {strip, group, panels, begin, std::min(begin + piece_steps_, steps_)};
  }

  static int64_t StripsOf(const Piece& piece) {
    return codes == Codes::kTernary ? 1 : piece.panels;
  }

  Piece Next(const Piece& piece) const {
    if (piece.end < steps_) return At(piece.strip, piece.end);
    const int64_t strip = piece.strip + StripsOf(piece);
    return strip < b_.strip_end ? At(strip, 0) : Piece{-1, 0, 0, 0, 0};
  }

  void RunStrips() {
    Piece piece = At(b_.strip_begin, 0);
    StartExpansion(piece, 1);
    while (piece.strip >= 0) {
      expander_.Finish();
      std::swap(panels_[0], panels_[1]);
      const Piece next = Next(piece);
      const int64_t block = piece.panels == 2 ? kTileRows : kBlock;
      const int64_t blocks = (count_ + block - 1) / block;
      if (next.strip >= 0) StartExpansion(next, blocks * (piece.end - piece.begin));
      if (joins_ && piece.group != joined_group_) Join(piece.group);
      if (piece.end == steps_) BindFinishers(piece);
      LocateRows(piece);
      for (int64_t i = 0; i < blocks; ++i) {
        piece.panels == 2 ? RunBlock<2>(piece, i * block) : RunBlock<1>(piece, i * block);
      }
      piece = next;
    }
    FinishPending();
  }

  void StartExpansion(const Piece& piece, int64_t calls) {
    const int64_t step_words = Planes(s_) * kStrip;
    const uint32_t* words[2];
    for (int64_t q = 0; q < 2; ++q) {
      const int64_t strip = codes == Codes::kTernary ? piece.strip : piece.strip + q;
      const int64_t plane = codes == Codes::kTernary ? q : 0;
      words[q] = reinterpret_cast<const uint32_t*>(b_.packed) +
                 (strip * steps_ + piece.begin) * step_words + plane * kStrip;
    }
    expander_.Start(words, piece.panels, step_words, piece.end - piece.begin, panels_[1], calls);
  }

  void Join(int64_t group) {
    joined_group_ = group;
    if (s_.x == Element::kFloat16) {
      JoinRows<uint16_t>(b_, group, begin_, count_, joined_, part_bytes_);
    } else {
      JoinRows<float>(b_, group, begin_, count_, joined_, part_bytes_);
    }
  }

  // Finds the rows that the first position of the chunk reads in each step of a piece.
  void LocateRows(const Piece& piece) {
    for (int64_t step = piece.begin; step < piece.end; ++step) {
      if (joins_) {
        rows_[step - piece.begin] = joined_ + step * kParts * part_bytes_;
        continue;
      }
      const int64_t tap = step / GroupWords(s_), word = step % GroupWords(s_);
      const int64_t row = begin_ + TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w);
      const int64_t plane = (piece.group * GroupWords(s_) + word) * kParts;
      rows_[step - piece.begin] = b_.rows.base + plane * part_bytes_ + row * kRowBytes;
    }
  }

  // The outputs of the strips before are finished by then, but for those of the last block.
  void BindFinishers(const Piece& piece) {
    FinishPending();
    for (int64_t i = 0; i < StripsOf(piece); ++i) {
      const Strip strip = StripAt(s_, piece.strip + i);
      epilogues_[i] = LoadStripEpilogue<V16>(b_, strip);
      finishers_[i].Bind(b_, strip, 0, &epilogues_[i]);
    }
    bound_ = StripsOf(piece);
  }

  void StepPending() {
    if (pending_ == 0) return;
    if (!finishers_[pending_ - 1].Step()) --pending_;
  }

  void FinishPending() {
    while (pending_ > 0) StepPending();
  }

  // Adds a piece to the sums of a block; positions past the last one read rows beyond it.
  template <int kPanels>
  void RunBlock(const Piece& piece, int64_t position) {
    constexpr int64_t kRowSums = kPanels * kStrip;
    constexpr int64_t kPositions = kPanels == 2 ? kTileRows : kBlock;
    // A block of one tile reads its rows twice instead of rows that are not there.
    const int64_t second = count_ - position > kTileRows ? kTileBytes : 0;
    float* sums = sums_ + position * kRowSums;
    LoadSums<kPanels>(piece.begin == 0, sums);
    const uint8_t* panel = panels_[0];
    for (int64_t i = 0; i < piece.end - piece.begin; ++i, panel += kPanels * kPanelBytes) {
      const uint8_t* rows = rows_[i] + position * kRowBytes;
      for (int part = kParts - 1; part >= 0; --part) {
        if (kPanels == 2) {
          MultiplyWide(rows + part * part_bytes_, panel);
        } else {
          MultiplyTall(rows + part * part_bytes_, second, panel);
        }
        StepPending();
      }
      expander_.Step();
    }
    // Sums of one block only are overwritten while they are being finished.
    if (pending_ > 0 && count_ <= kPositions) FinishPending();
    StoreSums<kPanels>(sums);
    if (piece.end < steps_) return;
    FinishPending();
    const int64_t count = std::min(kPositions, count_ - position);
    for (int64_t i = 0; i < bound_; ++i) {
      finishers_[i].Start(sums + i * kStrip, kRowSums, kStrip, begin_ + position, count);
    }
    pending_ = bound_;
  }

  static void MultiplyWide(const uint8_t* rows, const uint8_t* panel) {
    _tile_loadd(4, rows, kRowBytes);
    _tile_loadd(5, panel, kRowBytes);
    _tile_dpbf16ps(0, 4, 5);
    _tile_loadd(6, panel + kTileBytes, kRowBytes);
    _tile_dpbf16ps(1, 4, 6);
    _tile_loadd(7, panel + 2 * kTileBytes, kRowBytes);
    _tile_dpbf16ps(2, 4, 7);
    _tile_loadd(5, panel + 3 * kTileBytes, kRowBytes);
    _tile_dpbf16ps(3, 4, 5);
  }

  static void MultiplyTall(const uint8_t* rows, int64_t second, const uint8_t* panel) {
    _tile_loadd(4, rows, kRowBytes);
    _tile_loadd(6, panel, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, panel + kTileBytes, kRowBytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, rows + second, kRowBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }

  // Where tile i of the sums lies: side by side for two panels, two by two for one.
  template <int kPanels>
  static constexpr int64_t SumsOfTile(int64_t i) {
    return kPanels == 2 ? i * kHalf : i / 2 * kTileRows * kStrip + i % 2 * kHalf;
  }

  template <int kPanels>
  static void LoadSums(bool first, const float* sums) {
    if (first) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      return;
    }
    constexpr int64_t kStride = kPanels * kStrip * 4;
    _tile_loadd(0, sums, kStride);
    _tile_loadd(1, sums + SumsOfTile<kPanels>(1), kStride);
    _tile_loadd(2, sums + SumsOfTile<kPanels>(2), kStride);
    _tile_loadd(3, sums + SumsOfTile<kPanels>(3), kStride);
  }

  template <int kPanels>
  static void StoreSums(float* sums) {
    constexpr int64_t kStride = kPanels * kStrip * 4;
    _tile_stored(0, sums, kStride);
    _tile_stored(1, sums + SumsOfTile<kPanels>(1), kStride);
    _tile_stored(2, sums + SumsOfTile<kPanels>(2), kStride);
    _tile_stored(3, sums + SumsOfTile<kPanels>(3), kStride);
  }

  const Block& b_;
  const Shape& s_;
  const bool joins_;
  const int64_t steps_, part_bytes_;
  int64_t piece_steps_ = 0;
  int64_t begin_ = 0, count_ = 0;  // positions of the current chunk
  int64_t joined_group_ = -1;      // whose rows are in joined_
  uint8_t* panels_[2];             // being multiplied, being expanded
  float* sums_;                    // [position][panel][32]
  uint8_t* joined_;
  const uint8_t* rows_[kPieceSteps] = {};
  Expander<codes> expander_;
  StripEpilogue epilogues_[2];
  Finisher<V16, static_cast<int>(kStrip), float> finishers_[2];
  int64_t bound_ = 0, pending_ = 0;  // finishers in use, and those with outputs left
};

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_
