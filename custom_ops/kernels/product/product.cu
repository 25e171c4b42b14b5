#include <cstring>

#include "kernels/product/output_word.cuh"

namespace bnn::product {
namespace {

int64_t Taps(const Shape& s) { return s.kernel_h * s.kernel_w; }
int64_t GroupWords(const Shape& s) { return bits::WordCount(s.channels / s.group); }
int64_t Planes(const Shape& s) { return s.codes == Codes::kBinary ? 1 : 2; }
int64_t OutWords(const Shape& s) { return bits::WordCount(s.out_channels); }

}  // namespace

CudaProduct CudaProduct::Select(const Shape& shape, int capability) {
  CudaProduct product;
  product.shape_ = shape;
  product.capability_ = capability;
  return product;
}

const char* CudaProduct::name() const {
  return shape_.x == Element::kBits ? "bits_cuda_popc" : "float_cuda";
}

size_t CudaProduct::packed_bytes() const {
  return static_cast<size_t>(OutWords(shape_) * Taps(shape_) * GroupWords(shape_) * Planes(shape_) *
                             kLanes) *
         sizeof(uint32_t);
}

void CudaProduct::Pack(const uint32_t* words, void* packed) const {
  std::memset(packed, 0, packed_bytes());
  auto* to = static_cast<uint32_t*>(packed);
  const int64_t tap_words = Taps(shape_) * GroupWords(shape_), planes = Planes(shape_);
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t o = 0; o < shape_.out_channels; ++o) {
      const uint32_t* from = words + (plane * shape_.out_channels + o) * tap_words;
      for (int64_t i = 0; i < tap_words; ++i) {
        to[((o / kLanes * tap_words + i) * planes + plane) * kLanes + o % kLanes] = from[i];
      }
    }
  }
}

cuda::Status CudaProduct::Launch(const CudaCall& call, cuda::Stream stream) const {
  const Shape& s = shape_;
  Sizes z;
  z.out_h =
      OutputExtent(call.height, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top, s.pad_bottom);
  z.out_w = OutputExtent(call.width, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left, s.pad_right);
  z.positions = call.batch * z.out_h * z.out_w;
  z.group_channels = s.channels / s.group;
  z.group_outputs = s.out_channels / s.group;
  z.group_words = GroupWords(s);
  z.last_mask = bits::LastWordMask(z.group_channels);
  if (z.positions == 0) return 0;
  if (s.x == Element::kBits) return LaunchBits(s, call, z, stream);
  if (s.x == Element::kFloat32) return LaunchFloats(s, call, z, stream);
  return LaunchHalves(s, call, z, stream);
}

}  // namespace bnn::product
