// Real-valued X times codes in vectors of V::kLanes output channels.
//
// A panel of codes is expanded to floats -1, 0, +1 once for a chunk of positions; products with
// them are exact, so whether V::MulAdd rounds once or twice makes no difference.
#ifndef BNN_KERNELS_PRODUCT_FLOAT_MULTIPLY_H_
#define BNN_KERNELS_PRODUCT_FLOAT_MULTIPLY_H_

#include "kernels/product/float_rows.h"
#include "kernels/product/vector_finish.h"

namespace bnn::product {
namespace {

// kPositions x (kStrip / V::kLanes) accumulators fill the registers.
template <typename V, int kPositions>
class FloatMultiplier {
 public:
  explicit FloatMultiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        binary_(s_.codes == Codes::kBinary),
        sums_count_(s_.codes == Codes::kTernary ? 2 : 1) {}

  void Run() {
    for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
      strip_ = StripAt(s_, index);
      codes_ = float_rows::StripCodes(b_, index);
      const StripEpilogue epilogue = LoadStripEpilogue<V>(b_, strip_);
      finisher_.Bind(b_, strip_, 0, &epilogue);
      for (int64_t p = b_.position_begin; p < b_.position_end; p += kChunk) {
        const int64_t left = b_.position_end - p;
        MultiplyChunk(p, left < kChunk ? left : kChunk);
      }
    }
  }

 private:
  using Float = typename V::Float;
  static constexpr int kVectors = static_cast<int>(kStrip) / V::kLanes;
  static constexpr int64_t kChunk = 64;   // positions that share a panel
  static constexpr int64_t kDepth = 128;  // channels of a panel, 16 KiB

  void MultiplyChunk(int64_t position, int64_t count) {
    std::memset(sums_, 0, sizeof sums_);
    for (int sum = 0; sum < sums_count_; ++sum) {
      for (int64_t tap = 0; tap < Taps(s_); ++tap) {
        for (int64_t c = 0; c < GroupChannels(s_); c += kDepth) {
          const int64_t left = GroupChannels(s_) - c;
          MultiplyPanel(position, count, tap, c, left < kDepth ? left : kDepth, sum);
        }
      }
    }
    if (s_.codes == Codes::kTernaryEqual) SpreadInfinity(count);
    finisher_.Start(sums_[0], kStrip, kChunk * kStrip, position, count);
    finisher_.Finish();
  }

  // Each plane has a sum of its own by definition, and in one of them a 0 meets the infinity.
  void SpreadInfinity(int64_t count) {
    for (int64_t i = 0; i < count * kStrip; i += V::kLanes) {
      const Float sum = V::Load(sums_[0] + i);
      V::Store(sums_[0] + i, V::MulAdd(sum, V::Zero(), sum));
    }
  }

  // Adds channels c ... c + depth - 1 of one tap.
  void MultiplyPanel(int64_t position, int64_t count, int64_t tap, int64_t c, int64_t depth,
                     int sum) {
    ExpandPanel(codes_ + (tap * GroupChannels(s_) + c) * Planes(s_), depth, sum);
    const int64_t row = position + TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w);
    const float* x = float_rows::Row(b_, row, strip_.group) + c;
    float* sums = sums_[sum];
    int64_t p = 0;
    for (; p + kPositions <= count; p += kPositions) {
      Accumulate<kPositions>(x + p * s_.channels, depth, sums + p * kStrip);
    }
    for (; p < count; ++p) Accumulate<1>(x + p * s_.channels, depth, sums + p * kStrip);
  }

  void ExpandPanel(const uint32_t* codes, int64_t depth, int sum) {
    const Float one = V::Broadcast(1.0f), minus = V::Broadcast(-1.0f), zero = V::Zero();
    for (int64_t k = 0; k < depth; ++k, codes += Planes(s_)) {
      for (int v = 0; v < kVectors; ++v) {
        const int shift = v * V::kLanes;
        Float value;
        if (binary_) {
          value = V::Select(V::FromBits(codes[0] >> shift), one, minus);
        } else if (sums_count_ == 2) {
          value = V::Select(V::FromBits(codes[sum] >> shift), one, zero);
        } else {
          value = V::Select(V::FromBits(codes[1] >> shift), minus, zero);
          value = V::Select(V::FromBits(codes[0] >> shift), one, value);
        }
        V::Store(panel_ + k * kStrip + shift, value);
      }
    }
  }

  template <int kCount>
  void Accumulate(const float* x, int64_t depth, float* sums) const {
    Float acc[kCount][kVectors];
    for (int p = 0; p < kCount; ++p) {
      for (int v = 0; v < kVectors; ++v) acc[p][v] = V::Load(sums + p * kStrip + v * V::kLanes);
    }
    const int64_t step = s_.channels;
    const float* panel = panel_;
    for (int64_t k = 0; k < depth; ++k, panel += kStrip) {
#pragma GCC unroll 16
      for (int p = 0; p < kCount; ++p) {
        const Float value = V::Broadcast(x[p * step + k]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          acc[p][v] = V::MulAdd(value, V::Load(panel + v * V::kLanes), acc[p][v]);
        }
      }
    }
    for (int p = 0; p < kCount; ++p) {
      for (int v = 0; v < kVectors; ++v) V::Store(sums + p * kStrip + v * V::kLanes, acc[p][v]);
    }
  }

  const Block& b_;
  const Shape& s_;
  const bool binary_;
  const int sums_count_;
  Strip strip_ = {};
  const uint32_t* codes_ = nullptr;
  Finisher<V, static_cast<int>(kStrip), float> finisher_;
  alignas(64) float panel_[kDepth * kStrip];
  alignas(64) float sums_[2][kChunk * kStrip];
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_FLOAT_MULTIPLY_H_
