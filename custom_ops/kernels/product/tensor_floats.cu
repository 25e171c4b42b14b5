#include "kernels/product/tensor_floats.cuh"
#include "kernels/product/tensor_launch.h"

namespace bnn::product {
namespace {

template <typename X, Codes codes>
struct Kernel {
  using Tile = FloatTile<X, codes>;

  static cuda::Status Prepare() { return cuda::PrepareBlocks<Tile>(); }

  static cuda::Status Launch(const Shape& s, const CudaCall& call, const Sizes& z,
                             const TensorWeights& w, cuda::Stream stream) {
    const cuda::Grid grid = GridOf(s, z, Tile::kTile);
    return cuda::ForEachBlock(Tile{s, call, z, w}, grid, stream);
  }
};

// Calls `use` with the kernel for a shape.
template <typename X, typename Use>
cuda::Status WithCodes(const Shape& s, const Use& use) {
  if (s.codes == Codes::kBinary) return use(Kernel<X, Codes::kBinary>());
  if (s.codes == Codes::kTernary) return use(Kernel<X, Codes::kTernary>());
  return use(Kernel<X, Codes::kTernaryEqual>());
}

template <typename Use>
cuda::Status WithKernel(const Shape& s, const Use& use) {
  return s.x == Element::kFloat32 ? WithCodes<float>(s, use) : WithCodes<uint16_t>(s, use);
}

}  // namespace

bool FitsTensorFloats(const Shape& s, const CudaDevice& device) {
  return s.x != Element::kBits && device.capability >= 80 &&
         (s.group == 1 || s.out_channels / s.group % bits::kWordBits == 0);
}

cuda::Status PrepareTensorFloats(const Shape& s) {
  return WithKernel(s, [](auto kernel) { return decltype(kernel)::Prepare(); });
}

cuda::Status LaunchTensorFloats(const Shape& s, const CudaCall& call, const Sizes& z,
                                const TensorWeights& w, cuda::Stream stream) {
  return WithKernel(s,
                    [&](auto kernel) { return decltype(kernel)::Launch(s, call, z, w, stream); });
}

}  // namespace bnn::product
