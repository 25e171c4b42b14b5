// Every product in one kernel that needs no more of a device than a popcount, for what tensor cores
// do not take: a thread computes 32 output channels, one word of Ybits, of one position, one by
// one. Threads side by side take neighbouring positions, so weights are read once for all of a
// warp, floats of X and Y as whole lines, and no thread needs another.
//
// Packed weights: uint32 [words of Ybits][kernel taps][words of a group][planes][32 channels], zero
// where there is no channel.
#ifndef BNN_KERNELS_PRODUCT_OUTPUT_WORD_CUH_
#define BNN_KERNELS_PRODUCT_OUTPUT_WORD_CUH_

#include <type_traits>

#include "kernels/product/epilogue.cuh"

namespace bnn::product {

inline constexpr int kLanes = 32;  // output channels of a thread

// The sums of an output channel: one, or for two scales one for each plane.
template <typename Sum, Codes codes>
struct Sums {
  static constexpr int kLast = codes == Codes::kTernary ? 1 : 0;
  Sum values[kLast + 1] = {};
  float zeros = 0.0f;  // every real x times 0, as one ternary plane at least takes it: 0 or NaN
};

// Adds the products of the bits of one word. Binary sums count the codes that differ.
template <Codes codes>
BNN_DEVICE void AddWord(uint32_t x, const uint32_t* w, Sums<int, codes>* sums) {
  const uint32_t plus = w[0];
  if (codes == Codes::kBinary) {
    sums->values[0] += cuda::CountBits(x ^ plus);
    return;
  }
  const uint32_t minus = w[kLanes];
  if (codes == Codes::kTernaryEqual) {
    const uint32_t codes_set = plus | minus;
    sums->values[0] += cuda::CountBits(codes_set) - 2 * cuda::CountBits((x ^ plus) & codes_set);
  } else {
    sums->values[0] += cuda::CountBits(plus) - 2 * cuda::CountBits(~x & plus);
    sums->values[sums->kLast] += cuda::CountBits(minus) - 2 * cuda::CountBits(~x & minus);
  }
}

// Adds the product of one real value; its code is bit `c` of the words.
template <Codes codes>
BNN_DEVICE void AddValue(float x, const uint32_t* w, int c, Sums<float, codes>* sums) {
  const bool plus = (w[0] >> c) & 1u;
  if (codes == Codes::kBinary) {
    sums->values[0] += plus ? x : -x;
    return;
  }
  const bool minus = (w[kLanes] >> c) & 1u;
  if (codes == Codes::kTernaryEqual) {
    if (plus || minus) sums->values[0] += plus ? x : -x;
  } else {
    if (plus) sums->values[0] += x;
    if (minus) sums->values[sums->kLast] += x;
  }
}

// One thread: word `i / positions` of the output channels at position `i % positions`.
template <typename X, Codes codes>
struct OutputWord {
  static constexpr bool kBits = std::is_same<X, uint32_t>::value;
  using Sum = typename std::conditional<kBits, int, float>::type;
  using AllSums = Sums<Sum, codes>;
  static constexpr int64_t kWordStep = (codes == Codes::kBinary ? 1 : 2) * kLanes;

  Shape s;
  CudaCall call;
  Sizes z;

  BNN_DEVICE void operator()(int64_t i) const {
    const int64_t position = i % z.positions;
    const int64_t word = i / z.positions;
    const int64_t area = z.out_h * z.out_w;
    const int64_t image = position / area;
    const int64_t first = word * kLanes;
    const int64_t left = s.out_channels - first;
    const int count = static_cast<int>(left < kLanes ? left : kLanes);
    const int64_t y = image * s.out_channels * area + position % area;
    uint32_t bits = 0;
    for (int lane = 0; lane < count; ++lane) {
      AllSums sums;
      const int64_t channel = first + lane;
      const int64_t taps = Accumulate(word, position, channel / z.group_outputs, lane, &sums);
      bits |= Output(sums, taps, channel, y) << lane;
    }
    if (call.ybits != nullptr) {
      const int64_t words = (s.out_channels + bits::kWordBits - 1) / bits::kWordBits;
      call.ybits[position * words + word] = bits;
    }
  }

  // Sums over all taps for one lane; returns how many taps took part.
  BNN_DEVICE int64_t Accumulate(int64_t word, int64_t position, int64_t group, int lane,
                                AllSums* sums) const {
    const int64_t area = z.out_h * z.out_w;
    const int64_t image = position / area;
    const int64_t top = position % area / z.out_w * s.stride_h - s.pad_top;
    const int64_t left = position % area % z.out_w * s.stride_w - s.pad_left;
    const int64_t step = z.group_words * (codes == Codes::kBinary ? 1 : 2) * kLanes;
    const uint32_t* w =
        static_cast<const uint32_t*>(call.packed) + word * s.kernel_h * s.kernel_w * step;
    int64_t taps = 0;
    for (int64_t ky = 0; ky < s.kernel_h; ++ky) {
      for (int64_t kx = 0; kx < s.kernel_w; ++kx, w += step) {
        const int64_t row = top + ky * s.dilation_h, column = left + kx * s.dilation_w;
        const bool inside = row >= 0 && row < call.height && column >= 0 && column < call.width;
        if (!inside && s.pad_value == 0) continue;
        ++taps;
        AddTap(w, image, row, column, inside, group, lane, sums);
      }
    }
    return taps;
  }

  BNN_DEVICE void AddTap(const uint32_t* w, int64_t image, int64_t row, int64_t column, bool inside,
                         int64_t group, int lane, AllSums* sums) const {
    for (int64_t index = 0; index < z.group_words; ++index, w += kWordStep) {
      AddTapWord(w, image, row, column, inside, group, index, lane, sums);
    }
  }

  // Adds the 32 channels of word `index` of one tap.
  BNN_DEVICE void AddTapWord(const uint32_t* w, int64_t image, int64_t row, int64_t column,
                             bool inside, int64_t group, int64_t index, int lane,
                             AllSums* sums) const {
    if constexpr (kBits) {
      const uint32_t mask = index + 1 == z.group_words ? z.last_mask : ~0u;
      const int64_t pixel = (image * call.height + row) * call.width + column;
      const int64_t words = s.group * z.group_words;
      const uint32_t x =
          inside
              ? static_cast<const uint32_t*>(call.x)[pixel * words + group * z.group_words + index]
              : (s.pad_value > 0 ? ~0u : 0u);
      AddWord(x & mask, w + lane, sums);
    } else {
      const int64_t first = index * kLanes;
      const int64_t left = z.group_channels - first;
      const int channels = static_cast<int>(left < kLanes ? left : kLanes);
      const int64_t from = image * s.channels + group * z.group_channels + first;
      for (int c = 0; c < channels; ++c) {
        const int64_t pixel = ((from + c) * call.height + row) * call.width + column;
        const float x = inside ? cuda::ToFloat(static_cast<const X*>(call.x)[pixel])
                               : static_cast<float>(s.pad_value);
        AddValue(x, w + lane, c, sums);
        sums->zeros += x * 0.0f;
      }
    }
  }

  // Applies the epilogue to a sum and returns its bit.
  BNN_DEVICE uint32_t Output(const AllSums& sums, int64_t taps, int64_t channel, int64_t y) const {
    const float acc = Scaled(sums, taps, channel);
    return Finish(s, call, LoadChannel(s, call.epilogue, channel), acc,
                  y + channel * z.out_h * z.out_w);
  }

  BNN_DEVICE float Scaled(const AllSums& sums, int64_t taps, int64_t channel) const {
    const Sum sum = sums.values[0];
    if (codes == Codes::kTernary) {
      const Sum minus = sums.values[sums.kLast];
      const float p = (static_cast<float>(sum) + sums.zeros) * At(call.epilogue.w_pos, channel);
      const float n = static_cast<float>(minus) * At(call.epilogue.w_neg, channel);
      return p - n;
    }
    if (codes == Codes::kTernaryEqual) {
      return (static_cast<float>(sum) + sums.zeros) * At(call.epilogue.w_pos, channel);
    }
    if (kBits) return static_cast<float>(taps * z.group_channels - 2 * static_cast<int64_t>(sum));
    return static_cast<float>(sum);
  }
};

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_OUTPUT_WORD_CUH_
