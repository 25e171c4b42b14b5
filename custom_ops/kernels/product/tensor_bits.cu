#include <algorithm>

#include "kernels/product/tensor_launch.h"

namespace bnn::product {
namespace {

TensorKernels Kernels(const Shape& s) {
  if (s.codes == Codes::kBinary) return TensorBinary();
  return s.codes == Codes::kTernary ? TensorTernary() : TensorTernaryEqual();
}

// The sum over the codes of one tap of one filter, each plane on its own.
int32_t SumTap(const Shape& s, const uint32_t* words, int64_t count) {
  int32_t ones = 0;
  for (int64_t i = 0; i < count; ++i) ones += bits::PopCount(words[i]);
  return s.codes == Codes::kBinary ? 2 * ones - static_cast<int32_t>(s.channels / s.group) : ones;
}

}  // namespace

bool FitsTensorBits(const Shape& s) {
  return s.x == Element::kBits && s.channels / s.group % bits::kWordBits == 0 &&
         (s.group == 1 || s.out_channels / s.group % bits::kWordBits == 0);
}

void PackTensorWeights(const Shape& s, const uint32_t* words, const TensorWeights& w,
                       void* packed) {
  const int planes = s.codes == Codes::kBinary ? 1 : 2;
  auto* to = const_cast<uint32_t*>(w.words(packed));
  auto* sums = const_cast<int32_t*>(w.sums(s, packed, planes));
  const int64_t tap_words = bits::WordCount(s.channels / s.group), depth = w.depth(s);
  for (int plane = 0; plane < planes; ++plane) {
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const uint32_t* filter = words + (plane * s.out_channels + o) * depth;
      std::copy_n(filter, depth, to + w.word(s, plane, o, 0));
      for (int64_t y = 0; y < s.kernel_h; ++y) {
        for (int64_t x = 0; x < s.kernel_w; ++x) {
          const uint32_t* tap = filter + (y * s.kernel_w + x) * tap_words;
          sums[w.sum(s, plane, y + 1, x + 1, o)] =
              sums[w.sum(s, plane, y, x + 1, o)] + sums[w.sum(s, plane, y + 1, x, o)] -
              sums[w.sum(s, plane, y, x, o)] + SumTap(s, tap, tap_words);
        }
      }
    }
  }
}

cuda::Status PrepareTensorBits(const Shape& s, const CudaDevice& device) {
  return Kernels(s).prepare(device);
}

cuda::Status LaunchTensorBits(const Shape& s, const CudaCall& call, const Sizes& z,
                              const TensorWeights& w, const CudaDevice& device,
                              cuda::Stream stream) {
  return Kernels(s).launch(s, call, z, w, device, stream);
}

}  // namespace bnn::product
