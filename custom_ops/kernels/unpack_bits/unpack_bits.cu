#include "base/bits.h"
#include "base/cuda_kernel.h"
#include "kernels/unpack_bits/cuda.h"

namespace bnn {
namespace {

struct UnpackValue {
  UnpackBitsShape s;
  int64_t words;
  const uint32_t* bits;
  float* y;

  BNN_DEVICE void operator()(int64_t i) const {
    const int64_t position = i % s.positions;
    const int64_t channel = i / s.positions % s.channels;
    const int64_t image = i / s.positions / s.channels;
    const uint32_t word =
        bits[(image * s.positions + position) * words + channel / bits::kWordBits];
    y[i] = (word >> (channel % bits::kWordBits)) & 1u ? 1.0f : -1.0f;
  }
};

}  // namespace

cuda::Status unpack_bits_f32_cuda(const UnpackBitsShape& shape, int64_t images,
                                  const uint32_t* bits, float* y, cuda::Stream stream) {
  return cuda::ForEach(UnpackValue{shape, bits::WordCount(shape.channels), bits, y},
                       images * shape.channels * shape.positions, stream);
}

}  // namespace bnn
