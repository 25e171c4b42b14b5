// The weights of the tensor core products, as Pack writes and kernels read them: words
// [planes][output channels][depth], the depth rounded up to 16 bytes, and behind them int32 sums
// over the codes of taps, [planes][kernel_h + 1][kernel_w + 1][output channels]: entry (y, x) is
// the sum over the taps above y and left of x. The taps inside X form a rectangle, so four entries
// give what lies inside for any border.
#ifndef BNN_KERNELS_PRODUCT_TENSOR_WEIGHTS_H_
#define BNN_KERNELS_PRODUCT_TENSOR_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/cuda.h"
#include "kernels/product/product.h"

namespace bnn::product {

// The taps [begin, end) of an axis that lie inside X.
struct TapRange {
  int begin, end;
  BNN_BOTH int count() const { return end - begin; }
};

BNN_BOTH TapRange TapsInside(int64_t first, int64_t dilation, int64_t taps, int64_t extent) {
  const int64_t above = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
  const int64_t within = first >= extent ? 0 : (extent - first + dilation - 1) / dilation;
  const int64_t begin = above < taps ? above : taps, end = within < taps ? within : taps;
  return {static_cast<int>(begin), static_cast<int>(end > begin ? end : begin)};
}

// Of one output channel: a number for the plane of +1 (binary: for the codes) and one for that of
// -1.
struct ChannelSums {
  int plus, minus;
};

struct TensorWeights {
  size_t offset = 0;  // in the packed weights

  // Words of a row, and of a row with its padding.
  BNN_BOTH int depth(const Shape& s) const {
    const int64_t words = (s.channels / s.group + bits::kWordBits - 1) / bits::kWordBits;
    return static_cast<int>(s.kernel_h * s.kernel_w * words);
  }
  BNN_BOTH int pitch(const Shape& s) const { return (depth(s) + 3) / 4 * 4; }

  BNN_BOTH const uint32_t* words(const void* packed) const {
    return reinterpret_cast<const uint32_t*>(static_cast<const uint8_t*>(packed) + offset);
  }
  BNN_BOTH int64_t word(const Shape& s, int plane, int64_t channel, int word) const {
    return (plane * s.out_channels + channel) * pitch(s) + word;
  }

  BNN_BOTH const int32_t* sums(const Shape& s, const void* packed, int planes) const {
    return reinterpret_cast<const int32_t*>(words(packed) + word(s, planes, 0, 0));
  }
  BNN_BOTH int64_t sum(const Shape& s, int plane, int64_t y, int64_t x, int64_t channel) const {
    return ((plane * (s.kernel_h + 1) + y) * (s.kernel_w + 1) + x) * s.out_channels + channel;
  }

  size_t bytes(const Shape& s, int planes) const {
    return static_cast<size_t>(word(s, planes, 0, 0) + sum(s, planes, 0, 0, 0)) * sizeof(uint32_t);
  }

  // The sums over all taps, and over those of a rectangle.
  BNN_BOTH ChannelSums Total(const Shape& s, const void* packed, int planes,
                             int64_t channel) const {
    const TapRange y = {0, static_cast<int>(s.kernel_h)}, x = {0, static_cast<int>(s.kernel_w)};
    return Inside(s, packed, planes, channel, y, x);
  }
  BNN_BOTH ChannelSums Inside(const Shape& s, const void* packed, int planes, int64_t channel,
                              TapRange y, TapRange x) const {
    ChannelSums inside = {0, 0};
    const int32_t* all = sums(s, packed, planes);
    for (int plane = 0; plane < planes; ++plane) {
      const int sum_inside = all[sum(s, plane, y.end, x.end, channel)] -
                             all[sum(s, plane, y.begin, x.end, channel)] -
                             all[sum(s, plane, y.end, x.begin, channel)] +
                             all[sum(s, plane, y.begin, x.begin, channel)];
      (plane == 0 ? inside.plus : inside.minus) = sum_inside;
    }
    return inside;
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_TENSOR_WEIGHTS_H_
