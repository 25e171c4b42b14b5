#include "kernels/product/tensor_bits.h"

#include <cstring>
#include <limits>

#include "base/bits.h"

namespace bnn::product {
namespace {

constexpr int64_t kStageWords = 16;       // tensor_bits.cuh copies whole stages
constexpr int64_t kFewPositions = 4;      // a tile would be nearly empty
constexpr int64_t kMostGridRows = 65535;  // blocks along y and z

int64_t GroupWords(const Shape& s) { return bits::WordCount(s.channels / s.group); }
int64_t Planes(const Shape& s) { return s.codes == Codes::kBinary ? 1 : 2; }
int64_t SumCount(const Shape& s) { return s.codes == Codes::kTernary ? 2 : 1; }
int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// The words of one tap of one filter in both planes, as canonical.
struct Tap {
  const uint32_t *plus, *minus;  // minus: null for binary codes
};

int CountBits(const Shape& s, const uint32_t* words) {
  const int64_t group_words = GroupWords(s);
  int count = 0;
  for (int64_t i = 0; i < group_words; ++i) {
    const uint32_t mask = i + 1 == group_words ? bits::LastWordMask(s.channels / s.group) : ~0u;
    count += bits::PopCount(words[i] & mask);
  }
  return count;
}

// What the tap contributes to the sum where every x is 1.
int TapSum(const Shape& s, const Tap& tap, int64_t sum) {
  if (s.codes == Codes::kBinary) {
    return 2 * CountBits(s, tap.plus) - static_cast<int>(s.channels / s.group);
  }
  if (s.codes == Codes::kTernaryEqual) return CountBits(s, tap.plus) - CountBits(s, tap.minus);
  return CountBits(s, sum == 0 ? tap.plus : tap.minus);
}

void FillTable(const Shape& s, const uint32_t* words, int64_t channel, int64_t sum, int* table) {
  const int64_t taps = s.kernel_h * s.kernel_w, columns = s.kernel_w + 1;
  const int64_t plane = s.out_channels * taps * GroupWords(s);
  for (int64_t ky = 1; ky <= s.kernel_h; ++ky) {
    for (int64_t kx = 1; kx <= s.kernel_w; ++kx) {
      const int64_t index = channel * taps + (ky - 1) * s.kernel_w + kx - 1;
      const uint32_t* plus = words + index * GroupWords(s);
      const Tap tap = {plus, s.codes == Codes::kBinary ? nullptr : plus + plane};
      const auto at = [&](int64_t y, int64_t x) -> int& {
        return table[((sum * (s.kernel_h + 1) + y) * columns + x) * s.out_channels + channel];
      };
      at(ky, kx) = at(ky - 1, kx) + at(ky, kx - 1) - at(ky - 1, kx - 1) + TapSum(s, tap, sum);
    }
  }
}

}  // namespace

TensorLayout LayoutTensor(const Shape& s) {
  TensorLayout l = {};
  l.row_words = RoundUp(s.kernel_h * s.kernel_w * GroupWords(s), kStageWords);
  l.masks = Planes(s) * s.out_channels * l.row_words;
  l.counts = l.masks + l.row_words;
  l.table = l.counts + Planes(s) * s.out_channels;
  l.words = l.table + SumCount(s) * (s.kernel_h + 1) * (s.kernel_w + 1) * s.out_channels;
  return l;
}

bool FitsTensor(const Shape& s, int capability) {
  constexpr int64_t kMostExtent = int64_t{1} << 20;  // sums of offsets stay within 32 bits
  if (s.x != Element::kBits || capability < 75) return false;
  if (s.group > 1 && s.out_channels / s.group % bits::kWordBits != 0) return false;
  if (s.group > kMostGridRows || s.out_channels > kMostExtent) return false;
  return s.kernel_h * s.dilation_h < kMostExtent && s.kernel_w * s.dilation_w < kMostExtent &&
         s.pad_top < kMostExtent && s.pad_left < kMostExtent;
}

bool FitsTensor(const Shape& s, const CudaCall& call, int64_t positions) {
  constexpr int64_t kMost = std::numeric_limits<int>::max() / 2;
  const int64_t farthest = call.height + call.width + s.stride_h + s.stride_w;
  return positions > kFewPositions && positions < kMost && farthest < (kMost >> 2) &&
         call.batch * call.height * call.width < kMost;
}

const char* TensorName(int capability) {
  return capability < 90    ? "bits_cuda_tensor_xor"
         : capability < 100 ? "bits_cuda_tensor_and"
                            : "bits_cuda_tensor_bytes";
}

void PackTensor(const Shape& s, const uint32_t* words, uint32_t* packed) {
  const TensorLayout l = LayoutTensor(s);
  std::memset(packed, 0, static_cast<size_t>(l.words) * sizeof(uint32_t));
  const int64_t group_words = GroupWords(s), used = s.kernel_h * s.kernel_w * group_words;
  const auto mask = [&](int64_t i) {
    return i % group_words + 1 == group_words ? bits::LastWordMask(s.channels / s.group) : ~0u;
  };
  for (int64_t i = 0; i < used; ++i) packed[l.masks + i] = mask(i);
  auto* counts = reinterpret_cast<int*>(packed + l.counts);
  for (int64_t row = 0; row < Planes(s) * s.out_channels; ++row) {
    for (int64_t i = 0; i < used; ++i) {
      const uint32_t word = words[row * used + i] & mask(i);
      packed[l.codes + row * l.row_words + i] = word;
      counts[row] += bits::PopCount(word);
    }
  }
  auto* table = reinterpret_cast<int*>(packed + l.table);
  for (int64_t sum = 0; sum < SumCount(s); ++sum) {
    for (int64_t o = 0; o < s.out_channels; ++o) FillTable(s, words, o, sum, table);
  }
}

}  // namespace bnn::product
