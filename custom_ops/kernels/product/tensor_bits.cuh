// Bits times codes on tensor cores, a convolution as a matrix product that gathers its rows: a
// block computes a tile of output positions and channels of one group.
//
// Depth is taken in stages of 512 bits, copied to shared memory some stages ahead. A row there has
// four chunks of 16 bytes; chunk c of row r lies at c ^ (r / 2 % 4), so that neither copies nor
// LoadMatrices meet conflicts between banks.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_
#define BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_

#include "base/bits.h"
#include "base/cuda_tensor.h"
#include "kernels/product/epilogue.cuh"
#include "kernels/product/tensor_bits.h"

namespace bnn::product {

inline constexpr int kStageWords = 16, kChunkWords = 4, kRowChunks = kStageWords / kChunkWords;

// Which part of a product a block computes: `kRows` positions, `kColumns` channels in each of
// kPlanes planes; a warp kWarpRows positions of 32 channels, one word of Ybits each.
template <Codes kCodes, int kTileRows, int kTileColumns, int kRowsOfWarp, int kDepth>
struct TensorTile {
  static constexpr Codes codes = kCodes;
  static constexpr int kPlanes = kCodes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = kCodes == Codes::kTernary ? 2 : 1;
  static constexpr int kRows = kTileRows, kColumns = kTileColumns;
  static constexpr int kWarpRows = kRowsOfWarp, kWarpColumns = 32;
  static constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;
  static constexpr int kThreads = kRows / kWarpRows * (kColumns / kWarpColumns) * 32;
  static constexpr int kStages = kDepth;
  static constexpr int kWeightRows = kPlanes * kColumns;
  static constexpr int kBlockWords = (kRows + kWeightRows) * kStageWords;  // of a stage
};

struct TensorCall {
  Shape s;
  CudaCall call;
  const uint32_t *codes, *masks;  // masks: null where every bit of a word is a channel
  const int *counts, *table;      // table: null where nothing lies outside or counts as -1
  int positions, height, width, out_h, out_w;
  int group_outputs, group_words, pixel_words, depth_words, row_words, steps;
  int copy_words;  // 4, 2 or 1: what rows of X are aligned to
};

BNN_DEVICE int SharedWord(int row, int chunk) {
  return row * kStageWords + ((chunk ^ (row / 2 % kRowChunks)) * kChunkWords);
}

// The rectangle [top, bottom) x [left, right) of kernel taps that lie inside the image.
struct InnerTaps {
  int top, bottom, left, right;
};

BNN_DEVICE void ClampTaps(int start, int step, int kernel, int extent, int* first, int* end) {
  *first = start >= 0 ? 0 : (-start + step - 1) / step;
  *end = extent <= start ? 0 : (extent - start + step - 1) / step;
  if (*end > kernel) *end = kernel;
  if (*first > *end) *first = *end;
}

template <typename Tile>
class TensorBlock {
 public:
  BNN_DEVICE TensorBlock(const TensorCall& call, uint32_t* shared)
      : c_(call),
        shared_(shared),
        first_row_(static_cast<int>(blockIdx.x) * Tile::kRows),
        first_column_(static_cast<int>(blockIdx.y) * Tile::kColumns),
        group_(static_cast<int>(blockIdx.z)),
        thread_(static_cast<int>(threadIdx.x)) {
    BNN_UNROLL
    for (int j = 0; j < kCopiedRows; ++j) {
      const int position = first_row_ + CopiedRow(j), area = c_.out_h * c_.out_w;
      const int image = position / area, y = position % area / c_.out_w, x = position % c_.out_w;
      constexpr int kNowhere = -(1 << 30);
      tops_[j] = position < c_.positions ? Top(y) : kNowhere;
      lefts_[j] = Left(x);
      images_[j] = image * c_.height * c_.width;
    }
  }

  BNN_DEVICE void Run() {
    BNN_UNROLL
    for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
      if (stage < c_.steps) CopyStage(stage, stage);
      cuda::CommitCopies();
    }
    for (int step = 0; step < c_.steps; ++step) {
      cuda::WaitForCopies<Tile::kStages - 2>();
      __syncthreads();  // the stage is there for all, and none still reads the one written next
      const int next = step + Tile::kStages - 1;
      if (next < c_.steps) CopyStage(next % Tile::kStages, next);
      cuda::CommitCopies();
      MultiplyStage(step % Tile::kStages, step);
    }
    Finish();
  }

 private:
  static constexpr int kRowsAtOnce = Tile::kThreads / kRowChunks;
  static constexpr int kCopiedRows = Tile::kRows / kRowsAtOnce;
  static constexpr int kWarpsDown = Tile::kRows / Tile::kWarpRows;

  BNN_DEVICE int CopiedRow(int j) const { return thread_ / kRowChunks + j * kRowsAtOnce; }
  BNN_DEVICE int Lane() const { return thread_ % 32; }
  BNN_DEVICE int WarpRow() const { return thread_ / 32 % kWarpsDown * Tile::kWarpRows; }
  BNN_DEVICE int WarpColumn() const { return thread_ / 32 / kWarpsDown * Tile::kWarpColumns; }
  BNN_DEVICE int Top(int y) const {
    return y * static_cast<int>(c_.s.stride_h) - static_cast<int>(c_.s.pad_top);
  }
  BNN_DEVICE int Left(int x) const {
    return x * static_cast<int>(c_.s.stride_w) - static_cast<int>(c_.s.pad_left);
  }

  BNN_DEVICE void CopyStage(int stage, int step) {
    uint32_t* rows = shared_ + stage * Tile::kBlockWords;
    if (c_.copy_words == 4) {
      CopyRows<4>(rows, step);
    } else if (c_.copy_words == 2) {
      CopyRows<2>(rows, step);
    } else {
      CopyRows<1>(rows, step);
    }
    CopyWeights(rows + Tile::kRows * kStageWords, step);
  }

  // Gathers what the positions of this thread see at the taps of the stage, zeros outside.
  template <int kWords>
  BNN_DEVICE void CopyRows(uint32_t* rows, int step) {
    const auto* x = static_cast<const uint32_t*>(c_.call.x);
    const int chunk = thread_ % kRowChunks;
    BNN_UNROLL
    for (int piece = 0; piece < kChunkWords; piece += kWords) {
      const int word = step * kStageWords + chunk * kChunkWords + piece;
      const int tap = word / c_.group_words, part = word % c_.group_words;
      const int ky = tap / static_cast<int>(c_.s.kernel_w);
      const int kx = tap % static_cast<int>(c_.s.kernel_w);
      const int down = ky * static_cast<int>(c_.s.dilation_h);
      const int right = kx * static_cast<int>(c_.s.dilation_w);
      BNN_UNROLL
      for (int j = 0; j < kCopiedRows; ++j) {
        const int row = tops_[j] + down, column = lefts_[j] + right;
        const bool valid = word < c_.depth_words && row >= 0 && row < c_.height && column >= 0 &&
                           column < c_.width;
        const int64_t pixel = static_cast<int64_t>(images_[j]) + row * c_.width + column;
        const int64_t from = pixel * c_.pixel_words + group_ * c_.group_words + part;
        cuda::CopyAsync<4 * kWords>(rows + SharedWord(CopiedRow(j), chunk) + piece,
                                    valid ? x + from : x, valid);
      }
    }
  }

  BNN_DEVICE void CopyWeights(uint32_t* rows, int step) {
    const int chunk = thread_ % kRowChunks;
    BNN_UNROLL
    for (int row = thread_ / kRowChunks; row < Tile::kWeightRows; row += kRowsAtOnce) {
      const int plane = row / Tile::kColumns, column = first_column_ + row % Tile::kColumns;
      const bool valid = column < c_.group_outputs;
      const int64_t channel =
          plane * c_.s.out_channels + static_cast<int64_t>(group_) * c_.group_outputs + column;
      const int64_t from = channel * c_.row_words + step * kStageWords + chunk * kChunkWords;
      cuda::CopyAsync<16>(rows + SharedWord(row, chunk), c_.codes + (valid ? from : 0), valid);
    }
  }

  BNN_DEVICE void MultiplyStage(int stage, int step) {
    const uint32_t* rows = shared_ + stage * Tile::kBlockWords;
    BNN_UNROLL
    for (int half = 0; half < 2; ++half) {
      uint32_t a[Tile::kRowTiles][4];
      LoadRows(rows, step, half, a);
      BNN_UNROLL
      for (int plane = 0; plane < Tile::kPlanes; ++plane) {
        const uint32_t* weights = rows + (Tile::kRows + plane * Tile::kColumns) * kStageWords;
        uint32_t b[Tile::kColumnTiles][2];
        LoadWeights(weights, half, b);
        if (Complements(plane)) {
          BNN_UNROLL
          for (int i = 0; i < Tile::kRowTiles; ++i) {
            BNN_UNROLL
            for (int k = 0; k < 4; ++k) a[i][k] = ~a[i][k];
          }
        }
        BNN_UNROLL
        for (int i = 0; i < Tile::kRowTiles; ++i) {
          BNN_UNROLL
          for (int j = 0; j < Tile::kColumnTiles; ++j) {
            cuda::MultiplyBits(sums_[Tile::kSums == 2 ? plane : 0][i][j], a[i], b[j]);
          }
        }
      }
    }
  }

  // With one sum for both planes the rows meet the second one (and for kXor the first) inverted:
  //   popc(a & plus) + popc(~a & minus) = (dot + popc(plus) + popc(minus)) / 2
  //   popc(~a ^ plus) + popc(a ^ minus) = dot + the number of bits, pad bits included
  // The rows stay inverted from one plane to the next, so this tells when to turn them.
  BNN_DEVICE static bool Complements(int plane) {
    if (Tile::codes != Codes::kTernaryEqual) return false;
    return plane == 1 || cuda::NativeBitProduct() == cuda::BitProduct::kXor;
  }

  BNN_DEVICE void LoadRows(const uint32_t* rows, int step, int half,
                           uint32_t (&a)[Tile::kRowTiles][4]) {
    const bool is_xor = cuda::NativeBitProduct() == cuda::BitProduct::kXor;
    uint32_t masks[2] = {~0u, ~0u};
    if (Tile::codes == Codes::kBinary && c_.masks != nullptr) {
      const uint32_t* from = c_.masks + step * kStageWords + half * 8 + Lane() % 4;
      masks[0] = from[0];
      masks[1] = from[4];
    }
    BNN_UNROLL
    for (int i = 0; i < Tile::kRowTiles; ++i) {
      const int row = WarpRow() + i * 16 + Lane() % 16;
      cuda::LoadMatrices(a[i], rows + SharedWord(row, half * 2 + Lane() / 16));
      BNN_UNROLL
      for (int k = 0; k < 4; ++k) a[i][k] &= masks[k / 2];
      const bool counts = Tile::codes == Codes::kBinary ? !is_xor : is_xor;
      if (Tile::codes == Codes::kTernaryEqual || !counts) continue;
      BNN_UNROLL
      for (int k = 0; k < 4; ++k) row_counts_[i][k % 2] += cuda::CountBits(a[i][k]);
    }
  }

  BNN_DEVICE void LoadWeights(const uint32_t* weights, int half,
                              uint32_t (&b)[Tile::kColumnTiles][2]) {
    BNN_UNROLL
    for (int j = 0; j < Tile::kColumnTiles; j += 2) {
      const int row = WarpColumn() + j * 8 + Lane() % 8 + Lane() / 16 * 8;
      uint32_t words[4];
      cuda::LoadMatrices(words, weights + SharedWord(row, half * 2 + Lane() / 8 % 2));
      BNN_UNROLL
      for (int k = 0; k < 4; ++k) b[j + k / 2][k % 2] = cuda::PrepareBits(words[k]);
    }
  }

  BNN_DEVICE void Finish() {
    BNN_UNROLL
    for (int i = 0; i < Tile::kRowTiles; ++i) {
      BNN_UNROLL
      for (int half = 0; half < 2; ++half) FinishRow(i, half);
    }
  }

  // One position: each of four lanes has 8 channels of the word of Ybits.
  BNN_DEVICE void FinishRow(int i, int half) {
    int row_count = row_counts_[i][half];
    row_count += __shfl_xor_sync(~0u, row_count, 1);
    row_count += __shfl_xor_sync(~0u, row_count, 2);
    const int position = first_row_ + WarpRow() + i * 16 + half * 8 + Lane() / 4;
    const int column = first_column_ + WarpColumn();  // first of the word
    const int64_t word_channel = static_cast<int64_t>(group_) * c_.group_outputs + column;
    const bool valid = position < c_.positions;
    uint32_t bits = 0;
    if (valid) {
      const int area = c_.out_h * c_.out_w;
      const int64_t image = position / area, place = position % area;
      const InnerTaps inner = Inner(static_cast<int>(place));
      BNN_UNROLL
      for (int j = 0; j < Tile::kColumnTiles; ++j) {
        BNN_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int bit = j * 8 + Lane() % 4 * 2 + e;
          if (column + bit >= c_.group_outputs) continue;
          const int64_t channel = word_channel + bit;
          const float acc = Scaled(i, j, half * 2 + e, row_count, channel, inner);
          const int64_t index = (image * c_.s.out_channels + channel) * area + place;
          bits |= product::Finish(c_.s, c_.call, acc, channel, index) << bit;
        }
      }
    }
    if (c_.call.ybits == nullptr) return;
    bits |= __shfl_xor_sync(~0u, bits, 1);
    bits |= __shfl_xor_sync(~0u, bits, 2);
    if (valid && column < c_.group_outputs && Lane() % 4 == 0) {
      const int64_t words = (c_.s.out_channels + bits::kWordBits - 1) / bits::kWordBits;
      c_.call.ybits[position * words + word_channel / bits::kWordBits] = bits;
    }
  }

  BNN_DEVICE InnerTaps Inner(int place) const {
    InnerTaps inner = {};
    if (c_.table == nullptr) return inner;
    ClampTaps(Top(place / c_.out_w), static_cast<int>(c_.s.dilation_h),
              static_cast<int>(c_.s.kernel_h), c_.height, &inner.top, &inner.bottom);
    ClampTaps(Left(place % c_.out_w), static_cast<int>(c_.s.dilation_w),
              static_cast<int>(c_.s.kernel_w), c_.width, &inner.left, &inner.right);
    return inner;
  }

  BNN_DEVICE float Scaled(int i, int j, int k, int row_count, int64_t channel,
                          const InnerTaps& inner) const {
    const int first =
        Dot(0, cuda::CountOf(sums_[0][i][j][k]), row_count, channel) + Outside(0, channel, inner);
    if (Tile::codes == Codes::kBinary) return static_cast<float>(first);
    int second = 0;
    if (Tile::kSums == 2) {
      second = Dot(1, cuda::CountOf(sums_[Tile::kSums - 1][i][j][k]), row_count, channel) +
               Outside(1, channel, inner);
    }
    return ScaleSums<Tile::codes>(c_.call.epilogue, static_cast<float>(first),
                                  static_cast<float>(second), channel);
  }

  // The dot product that a count stands for, with -1 outside.
  BNN_DEVICE int Dot(int sum, int count, int row_count, int64_t channel) const {
    const bool is_xor = cuda::NativeBitProduct() == cuda::BitProduct::kXor;
    const int set = c_.counts[sum * c_.s.out_channels + channel];
    if (Tile::codes == Codes::kBinary) {
      const int taps = static_cast<int>(c_.s.kernel_h * c_.s.kernel_w);
      const int channels = static_cast<int>(c_.s.channels / c_.s.group);
      return taps * channels - 2 * (is_xor ? count : row_count + set - 2 * count);
    }
    if (Tile::codes == Codes::kTernary) return is_xor ? row_count - count : 2 * count - set;
    if (is_xor) return count - c_.steps * kStageWords * 32;
    return 2 * count - set - c_.counts[c_.s.out_channels + channel];
  }

  // What the pad value changes.
  BNN_DEVICE int Outside(int sum, int64_t channel, const InnerTaps& inner) const {
    if (c_.table == nullptr) return 0;
    const int kernel_h = static_cast<int>(c_.s.kernel_h);
    const int kernel_w = static_cast<int>(c_.s.kernel_w);
    const bool all = inner.bottom - inner.top == kernel_h && inner.right - inner.left == kernel_w;
    if (all) return 0;
    const auto at = [&](int y, int x) {
      const int64_t row = (static_cast<int64_t>(sum) * (kernel_h + 1) + y) * (kernel_w + 1) + x;
      return c_.table[row * c_.s.out_channels + channel];
    };
    const int inside = at(inner.bottom, inner.right) - at(inner.top, inner.right) -
                       at(inner.bottom, inner.left) + at(inner.top, inner.left);
    return (1 + c_.s.pad_value) * (at(kernel_h, kernel_w) - inside);
  }

  const TensorCall& c_;
  uint32_t* shared_;
  int first_row_, first_column_, group_, thread_;
  int tops_[kCopiedRows], lefts_[kCopiedRows], images_[kCopiedRows];  // images: their first pixel
  int sums_[Tile::kSums][Tile::kRowTiles][Tile::kColumnTiles][4] = {};
  int row_counts_[Tile::kRowTiles][2] = {};
};

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads) TensorKernel(const TensorCall call) {
  alignas(128) __shared__ uint32_t shared[Tile::kStages * Tile::kBlockWords];
  TensorBlock<Tile>(call, shared).Run();
}

template <typename Tile>
cuda::Status LaunchTile(const TensorCall& call, int capability, cuda::Stream stream) {
  cuda::Grid grid;
  grid.x = static_cast<unsigned>((call.positions + Tile::kRows - 1) / Tile::kRows);
  grid.y = static_cast<unsigned>((call.group_outputs + Tile::kColumns - 1) / Tile::kColumns);
  grid.z = static_cast<unsigned>(call.s.group);
  return cuda::LaunchBlocks(TensorKernel<Tile>, grid, Tile::kThreads, 0, capability, stream, call);
}

// Takes the large tile where there is work for it on a whole device.
template <typename Large, typename Small>
cuda::Status LaunchTiles(const TensorCall& call, int capability, cuda::Stream stream) {
  constexpr int64_t kManyBlocks = 96;
  const int64_t rows = (call.positions + Large::kRows - 1) / Large::kRows;
  const int64_t blocks = rows * (call.group_outputs / Large::kColumns) * call.s.group;
  if (blocks >= kManyBlocks) return LaunchTile<Large>(call, capability, stream);
  return LaunchTile<Small>(call, capability, stream);
}

// One file each, so that they compile side by side.
cuda::Status LaunchTensorBinary(const TensorCall& call, int capability, cuda::Stream stream);
cuda::Status LaunchTensorTernary(const TensorCall& call, int capability, cuda::Stream stream);
cuda::Status LaunchTensorTernaryEqual(const TensorCall& call, int capability, cuda::Stream stream);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_
