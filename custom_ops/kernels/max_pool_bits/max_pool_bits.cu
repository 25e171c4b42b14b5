#include "base/cuda_kernel.h"
#include "kernels/max_pool_bits/cuda.h"

namespace bnn {
namespace {

// As MaxPoolWindow, which is code for the host.
BNN_DEVICE MaxPoolSpan Window(int64_t out, int64_t stride, int64_t pad, int64_t kernel,
                              int64_t size) {
  const int64_t first = out * stride - pad;
  const int64_t last = first + kernel;
  return {first < 0 ? 0 : first, last > size ? size : last};
}

struct PoolWord {
  MaxPoolBitsShape s;
  int64_t out_height;
  const uint32_t* bits;
  const uint32_t* invert;
  uint32_t* y;

  BNN_DEVICE void operator()(int64_t i) const {
    const int64_t word = i % s.words;
    const int64_t column = i / s.words % s.out_width;
    const int64_t row = i / s.words / s.out_width % out_height;
    const int64_t image = i / s.words / s.out_width / out_height;
    const MaxPoolSpan rows = Window(row, s.stride_h, s.pad_top, s.kernel_h, s.height);
    const MaxPoolSpan columns = Window(column, s.stride_w, s.pad_left, s.kernel_w, s.width);
    const uint32_t* from = bits + image * s.height * s.width * s.words + word;
    uint32_t any = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        any |= from[(h * s.width + w) * s.words];
      }
    }
    y[i] = any ^ invert[word];
  }
};

}  // namespace

cuda::Status max_pool_bits_cuda(const MaxPoolBitsShape& shape, int64_t images, int64_t out_height,
                                const uint32_t* bits, const uint32_t* invert, uint32_t* y,
                                cuda::Stream stream) {
  return cuda::ForEach(PoolWord{shape, out_height, bits, invert, y},
                       images * out_height * shape.out_width * shape.words, stream);
}

}  // namespace bnn
