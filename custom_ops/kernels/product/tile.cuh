// What the tiled products share: which positions and channels a block computes, and how their
// outputs leave it. Block (x, y, z) has the x-th tile of positions and the y-th one of the channels
// of group z.
#ifndef BNN_KERNELS_PRODUCT_TILE_CUH_
#define BNN_KERNELS_PRODUCT_TILE_CUH_

#include "base/cuda_tensor.h"
#include "kernels/product/epilogue.cuh"
#include "kernels/product/tensor_weights.h"

namespace bnn::product {

inline cuda::Grid GridOf(const Shape& s, const Sizes& z, int tile) {
  return {(z.positions + tile - 1) / tile, (z.group_outputs + tile - 1) / tile, s.group};
}

BNN_DEVICE int64_t FirstRow(int tile) { return static_cast<int64_t>(blockIdx.x) * tile; }
BNN_DEVICE int FirstColumn(int tile) { return static_cast<int>(blockIdx.y) * tile; }
BNN_DEVICE int64_t Group() { return blockIdx.z; }

// The channel that a column of a tile computes.
BNN_DEVICE int64_t ChannelAt(const Sizes& z, int tile, int column) {
  return Group() * z.group_outputs + FirstColumn(tile) + column;
}

// The upper left input pixel of an output position and its image, -1 if there is no such position.
struct Window {
  int32_t top, left;
  int64_t image;
};

template <int kTile, int kThreads>
BNN_DEVICE void FindWindows(const Shape& s, const Sizes& z, Window* windows) {
  for (int row = static_cast<int>(threadIdx.x); row < kTile; row += kThreads) {
    const int64_t position = FirstRow(kTile) + row, area = z.out_h * z.out_w;
    const int64_t at = position % area;
    Window window;
    window.top = static_cast<int32_t>(at / z.out_w * s.stride_h - s.pad_top);
    window.left = static_cast<int32_t>(at % z.out_w * s.stride_w - s.pad_left);
    window.image = position < z.positions ? position / area : -1;
    windows[row] = window;
  }
}

// An output position: where it lies in Y and which taps are inside X.
struct Place {
  int64_t position, y;
  TapRange down, right;
  bool border;  // whether some are outside and count as another value than -1
};

BNN_DEVICE Place PlaceOf(const Shape& s, const CudaCall& call, const Sizes& z, int64_t position) {
  Place place;
  const int64_t area = z.out_h * z.out_w, at = position % area;
  place.position = position;
  place.y = position / area * s.out_channels * area + at;
  place.down =
      TapsInside(at / z.out_w * s.stride_h - s.pad_top, s.dilation_h, s.kernel_h, call.height);
  place.right =
      TapsInside(at % z.out_w * s.stride_w - s.pad_left, s.dilation_w, s.kernel_w, call.width);
  place.border =
      s.pad_value >= 0 && (place.down.count() < s.kernel_h || place.right.count() < s.kernel_w);
  return place;
}

// Lets all threads of a block compute the outputs of its tile by `output(place, row, column)`,
// which stores one and returns its bit, and stores the words of bits.
template <int kTile, int kThreads>
struct TileStore {
  static constexpr int kWords = kTile / 32;

  Shape s;
  CudaCall call;
  Sizes z;

  template <typename Output>
  BNN_DEVICE void Run(const Output& output) const {
    if (z.out_h * z.out_w == 1) {
      RunMatrix(output);
    } else {
      RunMaps(output);
    }
  }

  BNN_DEVICE bool Has(int row, int first) const {
    return FirstRow(kTile) + row < z.positions && FirstColumn(kTile) + first < z.group_outputs;
  }

  // Lanes side by side take positions side by side, which lie so in Y, and 32 channels one by one.
  template <typename Output>
  BNN_DEVICE void RunMaps(const Output& output) const {
    for (int item = static_cast<int>(threadIdx.x); item < kTile * kWords; item += kThreads) {
      const int row = item % kTile, first = item / kTile * 32;
      if (!Has(row, first)) continue;
      const Place place = PlaceOf(s, call, z, FirstRow(kTile) + row);
      uint32_t word = 0;
      for (int lane = 0; lane < 32 && Has(row, first + lane); ++lane) {
        word |= output(place, row, first + lane) << lane;
      }
      StoreWord(place, first, word);
    }
  }

  // Lanes side by side take channels side by side.
  template <typename Output>
  BNN_DEVICE void RunMatrix(const Output& output) const {
    constexpr int kWarps = kThreads / cuda::kWarp;
    const int warp = static_cast<int>(threadIdx.x) / cuda::kWarp;
    const int lane = static_cast<int>(threadIdx.x) % cuda::kWarp;
    for (int item = warp; item < kTile * kWords; item += kWarps) {
      const int row = item / kWords, first = item % kWords * 32;
      if (!Has(row, first)) continue;
      const Place place = PlaceOf(s, call, z, FirstRow(kTile) + row);
      const uint32_t bit = Has(row, first + lane) ? output(place, row, first + lane) : 0u;
      const uint32_t word = cuda::Ballot(bit);
      if (lane == 0) StoreWord(place, first, word);
    }
  }

  BNN_DEVICE void StoreWord(const Place& place, int first, uint32_t word) const {
    if (call.ybits == nullptr) return;
    const int64_t words = (s.out_channels + bits::kWordBits - 1) / bits::kWordBits;
    call.ybits[place.position * words + ChannelAt(z, kTile, first) / bits::kWordBits] = word;
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TILE_CUH_
