#include <cstring>

#include "base/cuda_tensor.h"
#include "kernels/product/output_launch.cuh"
#include "kernels/product/tensor_launch.h"

namespace bnn::product {
namespace {

int64_t Taps(const Shape& s) { return s.kernel_h * s.kernel_w; }
int64_t GroupWords(const Shape& s) { return bits::WordCount(s.channels / s.group); }
int64_t Planes(const Shape& s) { return s.codes == Codes::kBinary ? 1 : 2; }
int64_t OutWords(const Shape& s) { return bits::WordCount(s.out_channels); }

// Bytes of the weights in the order of output_word.cuh.
size_t WordBytes(const Shape& s) {
  return static_cast<size_t>(OutWords(s) * Taps(s) * GroupWords(s) * Planes(s) * kLanes) *
         sizeof(uint32_t);
}

}  // namespace

CudaProduct CudaProduct::Select(const Shape& shape, const CudaDevice& device) {
  CudaProduct product;
  product.shape_ = shape;
  product.device_ = device;
  product.tensor_ = FitsTensorBits(shape) || FitsTensorFloats(shape, device);
  product.tensor_weights_.offset = WordBytes(shape);
  return product;
}

const char* CudaProduct::name() const {
  if (shape_.x != Element::kBits) return tensor_ ? "float_cuda_bf16" : "float_cuda";
  if (!tensor_) return "bits_cuda_popc";
  switch (cuda::NativeBitProduct(device_.capability)) {
    case cuda::BitProduct::kXor:
      return "bits_cuda_xor";
    case cuda::BitProduct::kAnd:
      return "bits_cuda_and";
    default:
      return "bits_cuda_bytes";
  }
}

cuda::Status CudaProduct::Prepare() const {
  if (!tensor_) return 0;
  return shape_.x == Element::kBits ? PrepareTensorBits(shape_, device_)
                                    : PrepareTensorFloats(shape_);
}

size_t CudaProduct::packed_bytes() const {
  const size_t bytes = WordBytes(shape_);
  return tensor_ ? bytes + tensor_weights_.bytes(shape_, static_cast<int>(Planes(shape_))) : bytes;
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
  if (tensor_) PackTensorWeights(shape_, words, tensor_weights_, packed);
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
  if (tensor_ && z.positions > kFewPositions) {
    return s.x == Element::kBits ? LaunchTensorBits(s, call, z, tensor_weights_, device_, stream)
                                 : LaunchTensorFloats(s, call, z, tensor_weights_, stream);
  }
  if (s.x == Element::kBits) return LaunchBits(s, call, z, stream);
  if (s.x == Element::kFloat32) return LaunchFloats(s, call, z, stream);
  return LaunchHalves(s, call, z, stream);
}

}  // namespace bnn::product
