// Bits times codes on tensor cores: which shapes, how the weights lie, launches.
//
// Dot products of +-1 take a position outside the image as zero bits, that is as -1. What a pad
// value of 0 or 1 adds to that, is for each output channel
//   (1 + pad_value) * (the sum of its codes at the kernel taps outside).
// The taps inside are a rectangle of the kernel, so that four sums of a prefix-sum table give it.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_BITS_H_
#define BNN_KERNELS_PRODUCT_TENSOR_BITS_H_

#include "kernels/product/cuda.h"

namespace bnn::product {

// Where the parts of the packed weights begin, in words of 32 bits.
struct TensorLayout {
  int64_t row_words;  // of a filter: taps * words of a group, up to whole stages
  int64_t codes;      // uint32 [planes][out_channels][row_words], pad bits zero
  int64_t masks;      // uint32 [row_words]: which bits are channels
  int64_t counts;     // int32 [planes][out_channels]: set bits
  int64_t table;  // int32 [sums][kernel_h + 1][kernel_w + 1][out_channels]: sums of the codes of
                  // the taps above and to the left; for two scales of each plane's set bits
  int64_t words;  // altogether
};

TensorLayout LayoutTensor(const Shape& shape);

// Whether the kernels can run the shape on a device of this compute capability.
bool FitsTensor(const Shape& shape, int capability);

// Whether they can run this call, and are worth it.
bool FitsTensor(const Shape& shape, const CudaCall& call, int64_t positions);

// Name of the kernels of a device.
const char* TensorName(int capability);

// Rearranges the canonical words; `packed` holds LayoutTensor(shape).words.
void PackTensor(const Shape& shape, const uint32_t* words, uint32_t* packed);

// Queues a call that fits; `packed` is what PackTensor wrote, in device memory.
cuda::Status LaunchTensor(const Shape& shape, const CudaCall& call, const uint32_t* packed,
                          int capability, cuda::Stream stream);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_BITS_H_
