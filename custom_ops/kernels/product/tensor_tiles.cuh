// Which tile of tensor_bits.cuh a call takes.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_TILES_CUH_
#define BNN_KERNELS_PRODUCT_TENSOR_TILES_CUH_

#include "kernels/product/tensor_bits.cuh"
#include "kernels/product/tensor_launch.h"

namespace bnn::product {

constexpr int kSmallTile = 64, kLargeTile = 128;

// Large tiles read less, small ones give every multiprocessor work. Devices before 8.0 have too
// little shared memory for large ones, and two sums of them too many registers.
template <Codes codes>
bool WantsLargeTile(const Shape& s, const Sizes& z, const CudaDevice& device) {
  const cuda::Grid grid = GridOf(s, z, kLargeTile);
  return codes != Codes::kTernary && device.capability >= 80 && z.group_outputs > kSmallTile &&
         grid.x * grid.y * grid.z >= device.multiprocessors;
}

template <Codes codes, int kTile>
cuda::Status LaunchTile(const Shape& s, const CudaCall& call, const Sizes& z,
                        const TensorWeights& w, const CudaDevice& device, cuda::Stream stream) {
  const cuda::Grid grid = GridOf(s, z, kTile);
  const BitTile<codes, kTile> tile = {s, call, z, w, device.capability};
  return cuda::ForEachBlock(tile, grid, stream);
}

template <Codes codes>
cuda::Status LaunchTiles(const Shape& s, const CudaCall& call, const Sizes& z,
                         const TensorWeights& w, const CudaDevice& device, cuda::Stream stream) {
  if constexpr (codes != Codes::kTernary) {
    if (WantsLargeTile<codes>(s, z, device)) {
      return LaunchTile<codes, kLargeTile>(s, call, z, w, device, stream);
    }
  }
  return LaunchTile<codes, kSmallTile>(s, call, z, w, device, stream);
}

template <Codes codes>
cuda::Status PrepareTiles(const CudaDevice& device) {
  const cuda::Status status = cuda::PrepareBlocks<BitTile<codes, kSmallTile>>();
  if constexpr (codes != Codes::kTernary) {
    if (status == 0 && device.capability >= 80) {
      return cuda::PrepareBlocks<BitTile<codes, kLargeTile>>();
    }
  }
  return status;
}

template <Codes codes>
TensorKernels KernelsFor() {
  return {PrepareTiles<codes>, LaunchTiles<codes>};
}

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_TILES_CUH_
