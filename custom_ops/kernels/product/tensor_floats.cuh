// Products of real values with codes on tensor cores. A value is cut into bfloat16 parts, high +
// middle
// + low, three for float32 and two for float16, and codes are exact in bfloat16, so that the
// products of the parts are exact and only their sums round.
//
// Weights are packed as for tensor_bits.cuh; pad bits count for nothing, as the values there are 0.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_FLOATS_CUH_
#define BNN_KERNELS_PRODUCT_TENSOR_FLOATS_CUH_

#include <cstring>
#include <type_traits>

#include "kernels/product/tile.cuh"

namespace bnn::product {

// Cuts a value into bfloat16 parts, each the upper half of what is left. An infinity or NaN is its
// first part alone: parts of it would make NaN of an infinity.
template <int kParts>
BNN_DEVICE void Split(float value, uint32_t (&parts)[kParts]) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  const bool finite = (word & 0x7f800000u) != 0x7f800000u;
  const bool nan = !finite && (word & 0x007fffffu) != 0;
  parts[0] = word >> 16 | (nan ? 0x40u : 0u);
  BNN_UNROLL
  for (int part = 1; part < kParts; ++part) {
    value = finite ? value - cuda::BFloatToFloat(parts[part - 1]) : 0.0f;
    std::memcpy(&word, &value, sizeof(word));
    parts[part] = word >> 16;
  }
}

// One block: kTile positions by kTile channels, 32 channels of one tap a stage.
template <typename X, Codes codes>
struct FloatTile {
  static constexpr int kTile = 64;
  static constexpr int kParts = std::is_same<X, float>::value ? 3 : 2;
  static constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int kWarpRows = 32, kWarpColumns = 32;
  static constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;
  static constexpr int kThreads = kTile / kWarpRows * (kTile / kWarpColumns) * cuda::kWarp;
  static constexpr int kPitch =
      20;  // words of a row: 16 of pairs, and 4 that spread rows over banks
  static constexpr int kMatrix = kTile * kPitch;
  static constexpr int kStage = (kParts + kSums) * kMatrix;  // parts of X, then matrices of codes
  static constexpr int kSumPitch = kTile + 4;
  static constexpr int kAllSums = kSums * kTile * kSumPitch;
  static constexpr int kWindowWords = kTile * static_cast<int>(sizeof(Window) / sizeof(uint32_t));
  static constexpr int kSharedBytes =
      (2 * kStage + kWindowWords) * static_cast<int>(sizeof(uint32_t));
  static constexpr int kShare = kThreads / kTile;  // threads that fill one row
  static constexpr int kPairs = 16 / kShare;       // pairs that each of them fills
  static_assert(kAllSums + kShare * kTile <= 2 * kStage, "the sums take the place of the stages");

  using AllSums = float[kSums][kRowTiles][kColumnTiles][4];

  Shape s;
  CudaCall call;
  Sizes z;
  TensorWeights w;

  BNN_DEVICE void operator()(uint32_t* shared) const {
#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
    auto* windows = reinterpret_cast<Window*>(shared + 2 * kStage);
    FindWindows<kTile, kThreads>(s, z, windows);
    cuda::Barrier();
    const Window window = windows[Row()];
    const int steps = w.depth(s);
    AllSums sums = {};
    float zeros = 0.0f;  // the values that this thread fills, times 0: 0 or NaN
    FillStage(shared, window, 0, &zeros);
    for (int step = 0; step < steps; ++step) {
      cuda::Barrier();  // this stage is full, and all are done with the other
      if (step + 1 < steps) FillStage(shared + (step + 1) % 2 * kStage, window, step + 1, &zeros);
      MultiplyStage(shared + step % 2 * kStage, &sums);
    }
    Store(sums, zeros, shared);
#endif
  }

  // The row and the column of a stage that this thread fills, and which of the pairs there.
  BNN_DEVICE int Row() const { return static_cast<int>(threadIdx.x) % kTile; }
  BNN_DEVICE int FirstPair() const { return static_cast<int>(threadIdx.x) / kTile * kPairs; }

  BNN_DEVICE void FillStage(uint32_t* stage, const Window& window, int step, float* zeros) const {
    FillValues(stage, window, step, zeros);
    FillCodes(stage + kParts * kMatrix, step);
  }

  BNN_DEVICE void FillValues(uint32_t* stage, const Window& window, int step, float* zeros) const {
    const int words = static_cast<int>(z.group_words), tap = step / words;
    const int64_t y = window.top + tap / s.kernel_w * s.dilation_h;
    const int64_t x = window.left + tap % s.kernel_w * s.dilation_w;
    const bool inside = window.image >= 0 && y >= 0 && y < call.height && x >= 0 && x < call.width;
    const int first = step % words * 32;
    const int64_t plane = window.image * s.channels + Group() * z.group_channels;
    BNN_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      uint32_t packed[kParts] = {};
      BNN_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int channel = first + (FirstPair() + pair) * 2 + half;
        float value = 0.0f;
        if (window.image >= 0 && channel < z.group_channels) {
          const int64_t at = ((plane + channel) * call.height + y) * call.width + x;
          value = inside ? cuda::ToFloat(static_cast<const X*>(call.x)[at])
                         : static_cast<float>(s.pad_value);
        }
        *zeros += value * 0.0f;
        uint32_t parts[kParts];
        Split(value, parts);
        BNN_UNROLL
        for (int part = 0; part < kParts; ++part) packed[part] |= parts[part] << (16 * half);
      }
      BNN_UNROLL
      for (int part = 0; part < kParts; ++part) {
        stage[part * kMatrix + Row() * kPitch + FirstPair() + pair] = packed[part];
      }
    }
  }

  BNN_DEVICE void FillCodes(uint32_t* stage, int step) const {
    const int64_t channel = ChannelAt(z, kTile, Row());
    const bool there = FirstColumn(kTile) + Row() < z.group_outputs;
    uint32_t planes[kPlanes] = {};
    BNN_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) {
      if (there) planes[plane] = w.words(call.packed)[w.word(s, plane, channel, step)];
      planes[plane] >>= 2 * FirstPair();
    }
    BNN_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      BNN_UNROLL
      for (int matrix = 0; matrix < kSums; ++matrix) {
        const uint32_t plus = planes[matrix] >> (2 * pair);
        const uint32_t minus = codes == Codes::kBinary         ? ~plus
                               : codes == Codes::kTernaryEqual ? planes[kPlanes - 1] >> (2 * pair)
                                                               : 0u;
        stage[matrix * kMatrix + Row() * kPitch + FirstPair() + pair] =
            Code(plus, minus) | Code(plus >> 1, minus >> 1) << 16;
      }
    }
  }

  // The bfloat16 of +1, -1 or 0, by the lowest bits.
  static BNN_DEVICE uint32_t Code(uint32_t plus, uint32_t minus) {
    return (plus & 1u) != 0 ? 0x3f80u : (minus & 1u) != 0 ? 0xbf80u : 0u;
  }

  BNN_DEVICE int Lane() const { return static_cast<int>(threadIdx.x) % cuda::kWarp; }
  BNN_DEVICE int WarpRow() const {
    return static_cast<int>(threadIdx.x) / cuda::kWarp % (kTile / kWarpRows) * kWarpRows;
  }
  BNN_DEVICE int WarpColumn() const {
    return static_cast<int>(threadIdx.x) / cuda::kWarp / (kTile / kWarpRows) * kWarpColumns;
  }

  BNN_DEVICE void MultiplyStage(const uint32_t* stage, AllSums* sums) const {
    const int lane = Lane();
    BNN_UNROLL
    for (int word = 0; word < 16; word += 8) {  // 16 values deep
      BNN_UNROLL
      for (int matrix = 0; matrix < kSums; ++matrix) {
        uint32_t columns[kColumnTiles][2];
        BNN_UNROLL
        for (int j = 0; j < kColumnTiles; j += 2) {
          uint32_t loaded[4];
          const int column = WarpColumn() + j * 8 + lane % 8 + lane / 16 * 8;
          cuda::LoadMatrices(loaded, stage + (kParts + matrix) * kMatrix + column * kPitch + word +
                                         lane / 8 % 2 * 4);
          columns[j][0] = loaded[0];
          columns[j][1] = loaded[1];
          columns[j + 1][0] = loaded[2];
          columns[j + 1][1] = loaded[3];
        }
        BNN_UNROLL
        for (int i = 0; i < kRowTiles; ++i) {
          BNN_UNROLL
          for (int part = kParts - 1; part >= 0; --part) {  // small ones first
            uint32_t rows[4];
            cuda::LoadMatrices(rows, stage + part * kMatrix +
                                         (WarpRow() + i * 16 + lane % 16) * kPitch + word +
                                         lane / 16 * 4);
            BNN_UNROLL
            for (int j = 0; j < kColumnTiles; ++j) {
              cuda::MultiplyPairs((*sums)[matrix][i][j], rows, columns[j]);
            }
          }
        }
      }
    }
  }

  BNN_DEVICE void Store(const AllSums& sums, float zeros, uint32_t* shared) const {
    auto* all = reinterpret_cast<float*>(shared);
    const int lane = Lane();
    cuda::Barrier();  // all are done with the last stage
    BNN_UNROLL
    for (int i = 0; i < kRowTiles * 2; ++i) {
      const int row = WarpRow() + i / 2 * 16 + i % 2 * 8 + lane / 4;
      BNN_UNROLL
      for (int j = 0; j < kSums * kColumnTiles * 2; ++j) {
        const int sum = j / (kColumnTiles * 2), k = j % (kColumnTiles * 2);
        const int column = WarpColumn() + k / 2 * 8 + lane % 4 * 2 + k % 2;
        all[(sum * kTile + column) * kSumPitch + row] = sums[sum][i / 2][k / 2][i % 2 * 2 + k % 2];
      }
    }
    all[kAllSums + static_cast<int>(threadIdx.x)] = zeros;
    cuda::Barrier();
    const TileStore<kTile, kThreads> store = {s, call, z};
    store.Run(
        [&](const Place& place, int row, int column) { return Output(all, place, row, column); });
  }

  // Finishes one output and returns its bit.
  BNN_DEVICE uint32_t Output(const float* all, const Place& place, int row, int column) const {
    const int64_t channel = ChannelAt(z, kTile, column);
    const float* sums = all + column * kSumPitch + row;
    float acc = sums[0];
    if constexpr (codes != Codes::kBinary) {
      float zeros = 0.0f;
      for (int share = 0; share < kShare; ++share) zeros += all[kAllSums + share * kTile + row];
      acc = (acc + zeros) * At(call.epilogue.w_pos, channel);
    }
    if constexpr (codes == Codes::kTernary) {
      acc = acc - sums[kTile * kSumPitch] * At(call.epilogue.w_neg, channel);
    }
    const Channel c = LoadChannel(s, call.epilogue, channel);
    return Finish(s, call, c, acc, place.y + channel * z.out_h * z.out_w);
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_FLOATS_CUH_
