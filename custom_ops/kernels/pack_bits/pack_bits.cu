// One thread a word. Threads side by side take neighbouring positions, so that the floats of one
// channel are read as whole lines; a matrix has one position, and there each thread reads the 128
// bytes of its own word.
#include "base/bits.h"
#include "base/cuda_kernel.h"
#include "kernels/pack_bits/cuda.h"

namespace bnn {
namespace {

template <typename T>
struct PackWord {
  PackBitsShape s;
  int64_t words;
  const T* x;
  uint32_t* bits;

  BNN_DEVICE void operator()(int64_t i) const {
    const int64_t position = i % s.positions;
    const int64_t w = i / s.positions % words;
    const int64_t image = i / s.positions / words;
    const int64_t first = w * bits::kWordBits;
    const int64_t left = s.channels - first;
    const int count = static_cast<int>(left < bits::kWordBits ? left : bits::kWordBits);
    const T* from = x + (image * s.channels + first) * s.positions + position;
    uint32_t word = 0;
    for (int c = 0; c < count; ++c) {
      const float value =
          cuda::ToFloat(from[c * s.positions]) * s.sign[(first + c) * s.sign_stride];
      const bool set = value >= s.threshold[(first + c) * s.threshold_stride];
      word |= static_cast<uint32_t>(set) << c;
    }
    bits[(image * s.positions + position) * words + w] = word;
  }
};

template <typename T>
cuda::Status Run(const PackBitsShape& shape, int64_t images, const T* x, uint32_t* bits,
                 cuda::Stream stream) {
  const int64_t words = bits::WordCount(shape.channels);
  return cuda::ForEach(PackWord<T>{shape, words, x, bits}, images * words * shape.positions,
                       stream);
}

}  // namespace

cuda::Status pack_bits_f32_cuda(const PackBitsShape& shape, int64_t images, const float* x,
                                uint32_t* bits, cuda::Stream stream) {
  return Run(shape, images, x, bits, stream);
}

cuda::Status pack_bits_f16_cuda(const PackBitsShape& shape, int64_t images, const uint16_t* x,
                                uint32_t* bits, cuda::Stream stream) {
  return Run(shape, images, x, bits, stream);
}

}  // namespace bnn
