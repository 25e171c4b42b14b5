#include "kernels/product/tensor_bits.cuh"

namespace bnn::product {
namespace {

// The most words that can be copied at once: rows of X, and parts of them, are aligned to them.
int CopyWords(const CudaCall& call, int64_t group_words) {
  const auto address = reinterpret_cast<uintptr_t>(call.x);
  if (group_words % 4 == 0 && address % 16 == 0) return 4;
  return group_words % 2 == 0 && address % 8 == 0 ? 2 : 1;
}

TensorCall Describe(const Shape& s, const CudaCall& call, const uint32_t* packed) {
  const TensorLayout l = LayoutTensor(s);
  TensorCall t = {};
  t.s = s;
  t.call = call;
  t.codes = packed + l.codes;
  t.counts = reinterpret_cast<const int*>(packed + l.counts);
  const int64_t group_channels = s.channels / s.group;
  if (group_channels % bits::kWordBits != 0) t.masks = packed + l.masks;
  const bool padded = s.pad_top > 0 || s.pad_left > 0 || s.pad_bottom > 0 || s.pad_right > 0;
  if (padded && s.pad_value != -1) t.table = reinterpret_cast<const int*>(packed + l.table);
  const int64_t out_h =
      OutputExtent(call.height, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.pad_bottom);
  const int64_t out_w =
      OutputExtent(call.width, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.pad_right);
  const int64_t group_words = bits::WordCount(group_channels);
  t.positions = static_cast<int>(call.batch * out_h * out_w);
  t.height = static_cast<int>(call.height);
  t.width = static_cast<int>(call.width);
  t.out_h = static_cast<int>(out_h);
  t.out_w = static_cast<int>(out_w);
  t.group_outputs = static_cast<int>(s.out_channels / s.group);
  t.group_words = static_cast<int>(group_words);
  t.pixel_words = static_cast<int>(s.group * group_words);
  t.depth_words = static_cast<int>(s.kernel_h * s.kernel_w * group_words);
  t.row_words = static_cast<int>(l.row_words);
  t.steps = t.row_words / kStageWords;
  t.copy_words = CopyWords(call, group_words);
  return t;
}

}  // namespace

cuda::Status LaunchTensor(const Shape& s, const CudaCall& call, const uint32_t* packed,
                          int capability, cuda::Stream stream) {
  const TensorCall t = Describe(s, call, packed);
  if (s.codes == Codes::kBinary) return LaunchTensorBinary(t, capability, stream);
  if (s.codes == Codes::kTernary) return LaunchTensorTernary(t, capability, stream);
  return LaunchTensorTernaryEqual(t, capability, stream);
}

}  // namespace bnn::product
