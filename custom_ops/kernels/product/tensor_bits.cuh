// Products of bits on tensor cores, as matrix products whose rows are output positions, whose
// columns are output channels and whose depth is [kernel taps][words of a group]. Rows of X are
// gathered while they are copied to shared memory, a stage of 1024 bits ahead; outside X they are
// zeros, which count as -1, and a table of sums over taps makes up for another pad value.
//
// Packed weights: see TensorWeights.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_
#define BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_

#include "base/cuda_tensor.h"
#include "kernels/product/tile.cuh"

namespace bnn::product {

inline constexpr int kStageWords = 32;  // of a row
inline constexpr int kChunkWords = 4;   // 16 bytes, what ldmatrix reads at once

// Where a chunk of a row lies in a stage: chunks change places by row, so that eight rows next to
// each other differ in their memory banks, both when they are written and when they are read.
BNN_DEVICE int ChunkAt(int row, int chunk) {
  return row * kStageWords + (chunk ^ (row & 7)) * kChunkWords;
}

// One block: kTile positions by kTile channels.
template <Codes codes, int kTile>
struct BitTile {
  static constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int kWarpRows = kTile == 128 ? 64 : 32, kWarpColumns = 32;
  static constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;
  static constexpr int kWarpsDown = kTile / kWarpRows;
  static constexpr int kThreads = kWarpsDown * (kTile / kWarpColumns) * cuda::kWarp;
  static constexpr int kStages = kPlanes == 1 ? 3 : 2;
  static constexpr int kStageSize = (1 + kPlanes) * kTile * kStageWords;

  static constexpr int kSharedBytes =
      kStages * kStageSize * static_cast<int>(sizeof(uint32_t)) + kTile * sizeof(Window);

  struct State {
    int sums[kSums][kRowTiles][kColumnTiles][4] = {};
    int ones[kRowTiles][2] = {};  // bits of the rows of X, where the formula wants them
  };

  Shape s;
  CudaCall call;
  Sizes z;
  TensorWeights w;
  int capability;

  BNN_DEVICE void operator()(uint32_t* shared) const {
#if defined(__CUDA_ARCH__)
    // Devices before 8.0 take small tiles only: see tensor_tiles.cuh.
    if constexpr (kTile <= 64 || __CUDA_ARCH__ >= 800) Run<cuda::NativeBitProduct(0)>(shared);
#elif !defined(__CUDACC__)
    switch (cuda::NativeBitProduct(capability)) {
      case cuda::BitProduct::kXor:
        return Run<cuda::BitProduct::kXor>(shared);
      case cuda::BitProduct::kAnd:
        return Run<cuda::BitProduct::kAnd>(shared);
      case cuda::BitProduct::kBytes:
        return Run<cuda::BitProduct::kBytes>(shared);
    }
#endif
  }

  template <cuda::BitProduct product>
  BNN_DEVICE void Run(uint32_t* shared) const {
    auto* windows = reinterpret_cast<Window*>(shared + kStages * kStageSize);
    FindWindows<kTile, kThreads>(s, z, windows);
    cuda::Barrier();
    const int depth = w.depth(s), steps = (depth + kStageWords - 1) / kStageWords;
    State state;
    BNN_UNROLL
    for (int stage = 0; stage < kStages - 1; ++stage) {
      if (stage < steps) CopyStage(shared + stage * kStageSize, windows, stage);
      cuda::CommitCopies();
    }
    for (int step = 0; step < steps; ++step) {
      cuda::WaitCopies<kStages - 2>();
      cuda::Barrier();  // the stage has arrived for all, and all are done with the one before
      const int ahead = step + kStages - 1;
      if (ahead < steps) CopyStage(shared + ahead % kStages * kStageSize, windows, ahead);
      cuda::CommitCopies();
      MultiplyStage<product>(shared + step % kStages * kStageSize, &state);
    }
    Store<product>(state, shared, steps);
  }

  BNN_DEVICE void CopyStage(uint32_t* stage, const Window* windows, int step) const {
    if (z.group_words % 4 == 0) {
      CopyRows<4>(stage, windows, step);
    } else if (z.group_words % 2 == 0) {
      CopyRows<2>(stage, windows, step);
    } else {
      CopyRows<1>(stage, windows, step);
    }
    BNN_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) {
      CopyColumns(stage + (1 + plane) * kTile * kStageWords, plane, step);
    }
  }

  // Gathers the words [32 * step, 32 * step + 32) of the rows, kUnit words of one tap at a time.
  template <int kUnit>
  BNN_DEVICE void CopyRows(uint32_t* to, const Window* windows, int step) const {
    constexpr int kUnits = kStageWords / kUnit;  // of a row
    const int thread = static_cast<int>(threadIdx.x), unit = thread % kUnits;
    const int word = step * kStageWords + unit * kUnit;
    const int words = static_cast<int>(z.group_words);
    const int tap = word / words, part = word % words;
    const int down = tap / static_cast<int>(s.kernel_w) * static_cast<int>(s.dilation_h);
    const int right = tap % static_cast<int>(s.kernel_w) * static_cast<int>(s.dilation_w);
    const bool deep = word < w.depth(s);
    const auto* x = static_cast<const uint32_t*>(call.x);
    BNN_UNROLL_BY_4
    for (int row = thread / kUnits; row < kTile; row += kThreads / kUnits) {
      const Window window = windows[row];
      const int64_t y = window.top + down, column = window.left + right;
      const bool inside = deep && window.image >= 0 && y >= 0 && y < call.height && column >= 0 &&
                          column < call.width;
      const int64_t pixel = (window.image * call.height + y) * call.width + column;
      const uint32_t* from = x + (pixel * s.group + Group()) * words + part;
      const int chunk = unit * kUnit / kChunkWords, within = unit * kUnit % kChunkWords;
      cuda::CopyAsync<kUnit * 4>(to + ChunkAt(row, chunk) + within, inside ? from : x, inside);
    }
  }

  BNN_DEVICE void CopyColumns(uint32_t* to, int plane, int step) const {
    constexpr int kUnits = kStageWords / kChunkWords;
    const int thread = static_cast<int>(threadIdx.x), chunk = thread % kUnits;
    const int word = step * kStageWords + chunk * kChunkWords;
    BNN_UNROLL
    for (int column = thread / kUnits; column < kTile; column += kThreads / kUnits) {
      const int channel = FirstColumn(kTile) + column;
      const bool inside = word < w.pitch(s) && channel < z.group_outputs;
      const uint32_t* from = w.words(call.packed);
      if (inside) from += w.word(s, plane, Group() * z.group_outputs + channel, word);
      cuda::CopyAsync<16>(to + ChunkAt(column, chunk), from, inside);
    }
  }

  template <cuda::BitProduct product>
  static constexpr bool kWantsOnes =
      codes == Codes::kTernary ? product == cuda::BitProduct::kXor
                               : codes == Codes::kBinary && product != cuda::BitProduct::kXor;

  BNN_DEVICE int Lane() const { return static_cast<int>(threadIdx.x) % cuda::kWarp; }
  BNN_DEVICE int WarpRow() const {
    return static_cast<int>(threadIdx.x) / cuda::kWarp % kWarpsDown * kWarpRows;
  }
  BNN_DEVICE int WarpColumn() const {
    return static_cast<int>(threadIdx.x) / cuda::kWarp / kWarpsDown * kWarpColumns;
  }

  template <cuda::BitProduct product>
  BNN_DEVICE void MultiplyStage(const uint32_t* stage, State* state) const {
    const int lane = Lane();
    BNN_UNROLL
    for (int chunk = 0; chunk < kStageWords / kChunkWords; chunk += 2) {
      uint32_t rows[kRowTiles][4];
      BNN_UNROLL
      for (int i = 0; i < kRowTiles; ++i) {
        const int row = WarpRow() + i * 16 + lane % 16;
        cuda::LoadMatrices(rows[i], stage + ChunkAt(row, chunk + lane / 16));
        if constexpr (kWantsOnes<product>) {
          state->ones[i][0] += cuda::CountBits(rows[i][0]) + cuda::CountBits(rows[i][2]);
          state->ones[i][1] += cuda::CountBits(rows[i][1]) + cuda::CountBits(rows[i][3]);
        }
      }
      BNN_UNROLL
      for (int plane = 0; plane < kPlanes; ++plane) {
        const uint32_t* columns = stage + (1 + plane) * kTile * kStageWords;
        MultiplyPlane<product>(columns, plane, chunk, rows, state);
      }
    }
  }

  // kTernaryEqual counts both planes in one sum: with AND the ones of X under +1 and its zeros
  // under -1, with XOR what differs from -1 and what does not from +1.
  template <cuda::BitProduct product>
  BNN_DEVICE void MultiplyPlane(const uint32_t* columns, int plane, int chunk,
                                const uint32_t (&rows)[kRowTiles][4], State* state) const {
    const int lane = Lane();
    constexpr int kInverted = product == cuda::BitProduct::kXor ? 0 : 1;  // the plane that meets ~x
    const uint32_t invert = codes == Codes::kTernaryEqual && plane == kInverted ? ~0u : 0u;
    BNN_UNROLL
    for (int j = 0; j < kColumnTiles; j += 2) {
      uint32_t words[4];
      const int column = WarpColumn() + j * 8 + lane % 8 + lane / 16 * 8;
      cuda::LoadMatrices(words, columns + ChunkAt(column, chunk + lane / 8 % 2));
      BNN_UNROLL
      for (int k = 0; k < 2; ++k) {
        const uint32_t pair[2] = {cuda::PrepareColumn<product>(words[2 * k]),
                                  cuda::PrepareColumn<product>(words[2 * k + 1])};
        BNN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          const uint32_t x[4] = {rows[i][0] ^ invert, rows[i][1] ^ invert, rows[i][2] ^ invert,
                                 rows[i][3] ^ invert};
          cuda::MultiplyBits<product>(state->sums[kSums == 1 ? 0 : plane][i][j + k], x, pair);
        }
      }
    }
  }

  // Where the counts of a column go after the last stage: a pitch that spreads what a warp writes
  // at once over all banks.
  static constexpr int kCountPitch = kTile + 4;
  static constexpr int kCounts = kSums * kTile * kCountPitch;
  static_assert(kCounts + kTile <= kStages * kStageSize, "the counts take the place of the stages");

  // Shows the counts of all to all, in the shared memory of the stages; behind them those of
  // `ones`.
  template <cuda::BitProduct product>
  BNN_DEVICE void ShareCounts(const State& state, uint32_t* shared) const {
    const int lane = Lane();
    BNN_UNROLL
    for (int i = 0; i < kRowTiles * 2; ++i) {
      const int row = WarpRow() + i / 2 * 16 + i % 2 * 8 + lane / 4;
      BNN_UNROLL
      for (int j = 0; j < kSums * kColumnTiles * 2; ++j) {
        const int sum = j / (kColumnTiles * 2), k = j % (kColumnTiles * 2);
        const int column = WarpColumn() + k / 2 * 8 + lane % 4 * 2 + k % 2;
        shared[(sum * kTile + column) * kCountPitch + row] = static_cast<uint32_t>(
            cuda::CountOf<product>(state.sums[sum][i / 2][k / 2][i % 2 * 2 + k % 2]));
      }
      if constexpr (kWantsOnes<product>) {
        auto ones = static_cast<uint32_t>(state.ones[i / 2][i % 2]);
        ones += cuda::ShuffleXor(ones, 1);  // four lanes share a row
        ones += cuda::ShuffleXor(ones, 2);
        if (WarpColumn() == 0 && lane % 4 == 0) shared[kCounts + row] = ones;
      }
    }
  }

  template <cuda::BitProduct product>
  BNN_DEVICE void Store(const State& state, uint32_t* shared, int steps) const {
    cuda::Barrier();  // all are done with the last stage
    ShareCounts<product>(state, shared);
    cuda::Barrier();
    const TileStore<kTile, kThreads> store = {s, call, z};
    store.Run([&](const Place& place, int row, int column) {
      return Output<product>(shared, steps, place, row, column);
    });
  }

  // Finishes one output and returns its bit.
  template <cuda::BitProduct product>
  BNN_DEVICE uint32_t Output(const uint32_t* shared, int steps, const Place& place, int row,
                             int column) const {
    const int64_t channel = ChannelAt(z, kTile, column);
    const ChannelSums total = w.Total(s, call.packed, kPlanes, channel);
    const uint32_t* counts = shared + column * kCountPitch + row;
    const auto count = static_cast<int>(counts[0]);
    const auto minus = static_cast<int>(counts[(kSums - 1) * kTile * kCountPitch]);
    const auto ones = kWantsOnes<product> ? static_cast<int>(shared[kCounts + row]) : 0;
    ChannelSums dot = Dot<product>(count, minus, ones, total, steps);
    if (place.border) AddBorder(place, channel, total, &dot);
    const Channel c = LoadChannel(s, call.epilogue, channel);
    return Finish(s, call, c, Scaled(dot, channel), place.y + channel * z.out_h * z.out_w);
  }

  // The dot products with the planes, or their difference in `plus` where one sum serves both.
  template <cuda::BitProduct product>
  BNN_DEVICE ChannelSums Dot(int count, int minus, int ones, const ChannelSums& total,
                             int steps) const {
    constexpr bool kXor = product == cuda::BitProduct::kXor;
    if (codes == Codes::kBinary) {
      const int codes_of_row = static_cast<int>(z.group_channels * s.kernel_h * s.kernel_w);
      return {kXor ? codes_of_row - 2 * count : 4 * count - 2 * ones - total.plus, 0};
    }
    if (codes == Codes::kTernaryEqual) {
      const int of_all = steps * kStageWords * 32;
      return {kXor ? count - of_all : 2 * count - total.plus - total.minus, 0};
    }
    if (kXor) return {ones - count, ones - minus};
    return {2 * count - total.plus, 2 * minus - total.minus};
  }

  // Turns the -1 of the taps outside X into the pad value.
  BNN_DEVICE void AddBorder(const Place& place, int64_t channel, const ChannelSums& total,
                            ChannelSums* dot) const {
    const ChannelSums inside = w.Inside(s, call.packed, kPlanes, channel, place.down, place.right);
    const int step = s.pad_value + 1;
    const int plus = step * (total.plus - inside.plus), minus = step * (total.minus - inside.minus);
    dot->plus += codes == Codes::kTernaryEqual ? plus - minus : plus;
    dot->minus += minus;
  }

  BNN_DEVICE float Scaled(const ChannelSums& dot, int64_t channel) const {
    const auto plus = static_cast<float>(dot.plus);
    if (codes == Codes::kBinary) return plus;
    const float p = plus * At(call.epilogue.w_pos, channel);
    if (codes == Codes::kTernaryEqual) return p;
    return p - static_cast<float>(dot.minus) * At(call.epilogue.w_neg, channel);
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_BITS_CUH_
