#include "kernels/product/finish.h"

#include "base/half.h"

namespace bnn::product {
namespace {

float At(const Vector& v, int64_t channel) { return v.data[channel * v.stride]; }

float LoadReal(Element type, const void* data, int64_t index) {
  if (type == Element::kFloat16) return HalfToFloat(static_cast<const uint16_t*>(data)[index]);
  return static_cast<const float*>(data)[index];
}

// Rounds to the type of Y, stores if there is a Y, and returns what is (or would be) stored.
float StoreReal(Element type, void* data, int64_t index, float value) {
  if (type == Element::kFloat16) {
    const uint16_t half = FloatToHalf(value);
    if (data != nullptr) static_cast<uint16_t*>(data)[index] = half;
    return HalfToFloat(half);
  }
  if (data != nullptr) static_cast<float*>(data)[index] = value;
  return value;
}

}  // namespace

void Finish(const Block& b, const Strip& strip, int64_t position, const float* acc) {
  const Epilogue& e = b.call->epilogue;
  const Element type = b.shape->y;
  const Output out = OutputAt(b, position);
  uint32_t bits = 0;
  for (int64_t i = 0; i < strip.count; ++i) {
    const int64_t channel = strip.first + i;
    const int64_t index = out.first + channel * out.channel_step;
    float v = acc[i] < e.acc_min ? e.acc_min : acc[i];  // keeps NaN
    v = v * At(e.scale, channel);
    v = v + At(e.bias, channel);
    v = v + LoadReal(type, e.residual, index * e.residual_stride);
    v = v >= 0.0f ? v : v * At(e.slope, channel);
    v = v + At(e.shift, channel);
    const float y = StoreReal(type, b.call->y, index, v);
    bits |= static_cast<uint32_t>(y >= At(e.threshold, channel)) << i;
  }
  if (b.call->ybits != nullptr) StoreBits(b, strip, out.words, bits);
}

void LoadReals(Element type, const void* data, int64_t count, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = LoadReal(type, data, i);
}

void StoreBits(const Block& b, const Strip& strip, int64_t words, uint32_t bits) {
  uint32_t* word = b.call->ybits + words + strip.first / bits::kWordBits;
  if (StripsOwnWords(*b.shape)) {
    *word = bits;
    return;
  }
  const int64_t shift = strip.first % bits::kWordBits;
  word[0] |= bits << shift;
  if (shift + strip.count > bits::kWordBits) word[1] |= bits >> (bits::kWordBits - shift);
}

}  // namespace bnn::product
