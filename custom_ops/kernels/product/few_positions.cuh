// The sums of output_word.cuh for calls of a few positions, as fast as the weights can be read: a
// lane takes one output channel, so that a warp reads 128 bytes in a row, and the warps of a block
// share the words of the filters.
#ifndef BNN_KERNELS_PRODUCT_FEW_POSITIONS_CUH_
#define BNN_KERNELS_PRODUCT_FEW_POSITIONS_CUH_

#include <cstring>

#include "base/cuda_block.h"
#include "kernels/product/output_word.cuh"

namespace bnn::product {

// Of more output positions most rows of a tile are in use, of fewer hardly any.
inline constexpr int64_t kFewPositions = 4;

// Block (x, y) computes word x of the output channels at position y.
template <typename X, Codes codes>
struct FewPositions {
  using Word = OutputWord<X, codes>;
  using AllSums = typename Word::AllSums;
  static constexpr int kWarps = 8, kThreads = kWarps * cuda::kWarp;
  static constexpr int kValues = AllSums::kLast + 2;  // the sums of a lane and their zeros
  static constexpr int kSharedBytes = kValues * kThreads * static_cast<int>(sizeof(uint32_t));

  Word word;

  BNN_DEVICE void operator()(uint32_t* shared) const {
    const int lane = static_cast<int>(threadIdx.x) % cuda::kWarp;
    const int warp = static_cast<int>(threadIdx.x) / cuda::kWarp;
    const int64_t channel = static_cast<int64_t>(blockIdx.x) * kLanes + lane;
    AllSums sums;
    const int64_t taps = Accumulate(warp, lane, &sums);
    Show(sums, shared + threadIdx.x);
    cuda::Barrier();
    if (warp > 0) return;
    for (int other = 1; other < kWarps; ++other) Add(shared + other * cuda::kWarp + lane, &sums);
    const uint32_t bit = channel < word.s.out_channels ? Finish(sums, taps, channel) : 0u;
    const uint32_t bits = cuda::Ballot(bit);
    if (lane == 0 && word.call.ybits != nullptr) {
      const int64_t words = (word.s.out_channels + kLanes - 1) / kLanes;
      word.call.ybits[int64_t{blockIdx.y} * words + blockIdx.x] = bits;
    }
  }

  // Sums over every kWarps-th word of all taps; returns how many taps took part.
  BNN_DEVICE int64_t Accumulate(int warp, int lane, AllSums* sums) const {
    const Shape& s = word.s;
    const Sizes& z = word.z;
    const int64_t area = z.out_h * z.out_w, at = blockIdx.y % area, image = blockIdx.y / area;
    const int64_t top = at / z.out_w * s.stride_h - s.pad_top;
    const int64_t left = at % z.out_w * s.stride_w - s.pad_left;
    const int64_t group = blockIdx.x * int64_t{kLanes} / z.group_outputs;
    const int64_t all = s.kernel_h * s.kernel_w * z.group_words;
    const auto* w =
        static_cast<const uint32_t*>(word.call.packed) + blockIdx.x * all * Word::kWordStep;
    int64_t taps = 0;
    for (int64_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
      const int64_t row = top + tap / s.kernel_w * s.dilation_h;
      const int64_t column = left + tap % s.kernel_w * s.dilation_w;
      const bool inside =
          row >= 0 && row < word.call.height && column >= 0 && column < word.call.width;
      if (!inside && s.pad_value == 0) continue;
      ++taps;
      for (int64_t i = warp; i < z.group_words; i += kWarps) {
        const uint32_t* from = w + (tap * z.group_words + i) * Word::kWordStep;
        word.AddTapWord(from, image, row, column, inside, group, i, lane, sums);
      }
    }
    return taps;
  }

  BNN_DEVICE uint32_t Finish(const AllSums& sums, int64_t taps, int64_t channel) const {
    const int64_t area = word.z.out_h * word.z.out_w;
    const int64_t y = blockIdx.y / area * word.s.out_channels * area + blockIdx.y % area;
    return word.Output(sums, taps, channel, y);
  }

  static BNN_DEVICE void Show(const AllSums& sums, uint32_t* to) {
    std::memcpy(to, &sums.values[0], sizeof(uint32_t));
    if (AllSums::kLast > 0) {
      std::memcpy(to + kThreads, &sums.values[AllSums::kLast], sizeof(uint32_t));
    }
    std::memcpy(to + (kValues - 1) * kThreads, &sums.zeros, sizeof(uint32_t));
  }

  static BNN_DEVICE void Add(const uint32_t* from, AllSums* sums) {
    AllSums other;
    std::memcpy(&other.values[0], from, sizeof(uint32_t));
    std::memcpy(&other.zeros, from + (kValues - 1) * kThreads, sizeof(uint32_t));
    sums->values[0] += other.values[0];
    sums->zeros += other.zeros;
    if (AllSums::kLast > 0) {
      std::memcpy(&other.values[AllSums::kLast], from + kThreads, sizeof(uint32_t));
      sums->values[AllSums::kLast] += other.values[AllSums::kLast];
    }
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_FEW_POSITIONS_CUH_
