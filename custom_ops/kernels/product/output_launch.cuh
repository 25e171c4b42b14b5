// Launches of output_word.cuh and few_positions.cuh, one source file for each type of X, so that
// they compile side by side.
#ifndef BNN_KERNELS_PRODUCT_OUTPUT_LAUNCH_CUH_
#define BNN_KERNELS_PRODUCT_OUTPUT_LAUNCH_CUH_

#include "kernels/product/few_positions.cuh"

namespace bnn::product {

template <typename X, Codes codes>
cuda::Status LaunchCodes(const Shape& s, const CudaCall& call, const Sizes& z,
                         cuda::Stream stream) {
  const int64_t words = bits::WordCount(s.out_channels);
  const int64_t count = z.positions * words;
  if (z.positions <= kFewPositions && (s.group == 1 || z.group_outputs % kLanes == 0)) {
    return cuda::ForEachBlock(FewPositions<X, codes>{{s, call, z}}, {words, z.positions}, stream);
  }
  return cuda::ForEach(OutputWord<X, codes>{s, call, z}, count, stream);
}

template <typename X>
cuda::Status LaunchWords(const Shape& s, const CudaCall& call, const Sizes& z,
                         cuda::Stream stream) {
  if (s.codes == Codes::kBinary) return LaunchCodes<X, Codes::kBinary>(s, call, z, stream);
  if (s.codes == Codes::kTernary) return LaunchCodes<X, Codes::kTernary>(s, call, z, stream);
  return LaunchCodes<X, Codes::kTernaryEqual>(s, call, z, stream);
}

cuda::Status LaunchBits(const Shape& s, const CudaCall& call, const Sizes& z, cuda::Stream stream);
cuda::Status LaunchFloats(const Shape& s, const CudaCall& call, const Sizes& z,
                          cuda::Stream stream);
cuda::Status LaunchHalves(const Shape& s, const CudaCall& call, const Sizes& z,
                          cuda::Stream stream);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_OUTPUT_LAUNCH_CUH_
