// Real-valued X times codes in bf16 tiles: 32 positions by 32 output channels at once.
//
// The depth is cut into pieces whose weights, expanded once, stay in the first-level cache while a
// chunk of positions passes by; sums wait in memory between pieces. While a piece is multiplied,
// the next one is expanded and the epilogue of the block of positions before is applied, both fed
// to the core between tile instructions, which leave the vector units idle.
//
// A panel is 32 sums: a strip, or one plane of a strip where the planes have scales of their own.
// Two by two tiles of sums take the fewest loads of tiles a product, two for three. Rows are loaded
// past the first-level cache, which they would sweep clear of panels and sums.
#ifndef BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_
#define BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_

#include "kernels/product/x86_amx_float_join.h"
#include "kernels/product/x86_amx_float_panels.h"

namespace bnn::product {
namespace {
namespace amx_float {

constexpr int64_t kPieceSteps = 8;               // two buffers of 8 * 2 KiB
constexpr int64_t kChunk = 256;                  // positions whose sums wait at a time
constexpr int64_t kJoinedChunk = 128;            // whose rows wait too
constexpr int64_t kBlock = 2 * kTileRows;        // most positions at once
constexpr int64_t kPanelBytes = 2 * kTileBytes;  // of a step

inline int64_t Steps(const Shape& s) { return Joins(s) ? JoinedSteps(s) : Taps(s) * GroupWords(s); }

// Sums of a chunk for one plane, or for both.
constexpr int64_t kPlaneSums = (kChunk + kBlock) * kStrip;

inline size_t UnitBytes(const Shape& s) {
  const int64_t rows = Joins(s) ? JoinedSteps(s) * Parts(s) * (kJoinedChunk + kBlock) : 0;
  const int64_t sums = (s.codes == Codes::kTernary ? 2 : 1) * kPlaneSums;
  return static_cast<size_t>(2 * kPieceSteps * kPanelBytes + rows * kRowBytes) +
         static_cast<size_t>(sums) * sizeof(float);
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
    panels_[1] = panels_[0] + kPieceSteps * kPanelBytes;
    sums_ = reinterpret_cast<float*>(panels_[1] + kPieceSteps * kPanelBytes);
    joined_ = reinterpret_cast<uint8_t*>(sums_ + kSums * kPlaneSums);
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
  static constexpr int64_t kSums = codes == Codes::kTernary ? 2 : 1;

  struct Piece {
    int64_t strip, plane, begin, end;  // strip is -1 after the last piece
  };

  Piece At(int64_t strip, int64_t plane, int64_t begin) const {
    return {strip, plane, begin, std::min(begin + piece_steps_, steps_)};
  }

  Piece Next(const Piece& piece) const {
    if (piece.end < steps_) return At(piece.strip, piece.plane, piece.end);
    if (piece.plane + 1 < kSums) return At(piece.strip, piece.plane + 1, 0);
    return piece.strip + 1 < b_.strip_end ? At(piece.strip + 1, 0, 0) : Piece{-1, 0, 0, 0};
  }

  bool IsLast(const Piece& piece) const { return piece.end == steps_ && piece.plane + 1 == kSums; }

  void RunStrips() {
    const int64_t blocks = (count_ + kBlock - 1) / kBlock;
    Piece piece = At(b_.strip_begin, 0, 0);
    StartExpansion(piece, 1);
    while (piece.strip >= 0) {
      expander_.Finish();
      std::swap(panels_[0], panels_[1]);
      const Piece next = Next(piece);
      if (next.strip >= 0) StartExpansion(next, blocks * (piece.end - piece.begin));
      const int64_t group = piece.strip / GroupStrips(s_);
      if (joins_ && group != joined_group_) Join(group);
      if (IsLast(piece)) BindFinisher(piece.strip);
      LocateRows(piece, group);
      for (int64_t i = 0; i < blocks; ++i) RunBlock(piece, i * kBlock);
      piece = next;
    }
    FinishPending();
  }

  void StartExpansion(const Piece& piece, int64_t calls) {
    const int64_t step_words = Planes(s_) * kStrip;
    const auto* words = reinterpret_cast<const uint32_t*>(b_.packed) +
                        (piece.strip * steps_ + piece.begin) * step_words + piece.plane * kStrip;
    expander_.Start(words, step_words, piece.end - piece.begin, panels_[1], calls);
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
  void LocateRows(const Piece& piece, int64_t group) {
    for (int64_t step = piece.begin; step < piece.end; ++step) {
      if (joins_) {
        rows_[step - piece.begin] = joined_ + step * kParts * part_bytes_;
        continue;
      }
      const int64_t tap = step / GroupWords(s_), word = step % GroupWords(s_);
      const int64_t row = begin_ + TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w);
      const int64_t plane = (group * GroupWords(s_) + word) * kParts;
      rows_[step - piece.begin] = b_.rows.base + plane * part_bytes_ + row * kRowBytes;
    }
  }

  // The outputs of the strip before are finished by then, but for those of its last block.
  void BindFinisher(int64_t strip_index) {
    FinishPending();
    const Strip strip = StripAt(s_, strip_index);
    epilogue_ = LoadStripEpilogue<V16>(b_, strip);
    finisher_.Bind(b_, strip, 0, &epilogue_);
  }

  void FinishPending() {
    if (pending_) finisher_.Finish();
    pending_ = false;
  }

  // Adds a piece to the sums of a block; positions past the last one read rows beyond it.
  void RunBlock(const Piece& piece, int64_t position) {
    float* sums = sums_ + piece.plane * kPlaneSums + position * kStrip;
    if (count_ - position > kTileRows) {
      MultiplySteps(piece, position, piece.begin == 0, sums);
    } else {
      MultiplyTileSteps(piece, position, piece.begin == 0, sums);
    }
    if (!IsLast(piece)) return;
    FinishPending();
    finisher_.Start(sums_ + position * kStrip, kStrip, kPlaneSums, begin_ + position,
                    std::min(kBlock, count_ - position));
    pending_ = true;
  }

  // Work for the vector units between tile instructions.
  void Interleave() {
    expander_.Step();
    if (pending_) pending_ = finisher_.Step();
  }

  // The smallest parts come first, so that sums are rounded least.
  void MultiplySteps(const Piece& piece, int64_t position, bool first, float* sums) {
    LoadSums(first, sums);
    const uint8_t* panel = panels_[0];
    for (int64_t i = 0; i < piece.end - piece.begin; ++i, panel += kPanelBytes) {
      const uint8_t* rows = rows_[i] + position * kRowBytes;
      _tile_loadd(6, panel, kRowBytes);
      _tile_loadd(7, panel + kTileBytes, kRowBytes);
#pragma GCC unroll 3
      for (int part = 0; part < kParts; ++part, rows += part_bytes_) {
        _tile_stream_loadd(4, rows, kRowBytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_stream_loadd(5, rows + kTileBytes, kRowBytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      Interleave();
    }
    // Sums of a single block are overwritten while they are being finished.
    if (count_ <= kBlock) FinishPending();
    StoreSums(sums);
  }

  // The same for sixteen positions, with two sums apart so that products need not wait for each
  // other; the second half of the block's sums holds the other one until both are added.
  void MultiplyTileSteps(const Piece& piece, int64_t position, bool first, float* sums) {
    LoadSums(true, sums);
    if (!first) {
      _tile_loadd(0, sums, kStrip * 4);
      _tile_loadd(1, sums + kHalf, kStrip * 4);
    }
    const uint8_t* panel = panels_[0];
    for (int64_t i = 0; i < piece.end - piece.begin; ++i, panel += kPanelBytes) {
      const uint8_t* rows = rows_[i] + position * kRowBytes;
      _tile_loadd(6, panel, kRowBytes);
      _tile_loadd(7, panel + kTileBytes, kRowBytes);
#pragma GCC unroll 3
      for (int part = 0; part < kParts; ++part, rows += part_bytes_) {
        _tile_stream_loadd(4, rows, kRowBytes);
        if (part + 1 < kParts) {
          _tile_dpbf16ps(2, 4, 6);
          _tile_dpbf16ps(3, 4, 7);
        } else {
          _tile_dpbf16ps(0, 4, 6);
          _tile_dpbf16ps(1, 4, 7);
        }
      }
      Interleave();
    }
    if (count_ <= kBlock) FinishPending();
    StoreSums(sums);
    for (int64_t i = 0; i < kTileRows * kStrip; i += 16) {
      const __m512 small = _mm512_load_ps(sums + kTileRows * kStrip + i);
      _mm512_store_ps(sums + i, _mm512_add_ps(_mm512_load_ps(sums + i), small));
    }
  }

  static void LoadSums(bool first, const float* sums) {
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

  static void StoreSums(float* sums) {
    _tile_stored(0, sums, kStrip * 4);
    _tile_stored(1, sums + kHalf, kStrip * 4);
    _tile_stored(2, sums + kTileRows * kStrip, kStrip * 4);
    _tile_stored(3, sums + kTileRows * kStrip + kHalf, kStrip * 4);
  }

  const Block& b_;
  const Shape& s_;
  const bool joins_;
  const int64_t steps_, part_bytes_;
  int64_t piece_steps_ = 0;
  int64_t begin_ = 0, count_ = 0;  // positions of the current chunk
  int64_t joined_group_ = -1;      // whose rows are in joined_
  uint8_t* panels_[2];             // being multiplied, being expanded
  float* sums_;                    // [plane][position][32]
  uint8_t* joined_;
  const uint8_t* rows_[kPieceSteps] = {};
  Expander<codes> expander_;
  StripEpilogue epilogue_;
  Finisher<V16, static_cast<int>(kStrip), float> finisher_;
  bool pending_ = false;  // the finisher has outputs left
};

}  // namespace amx_float
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AMX_FLOAT_MULTIPLY_H_
