// Portable: 64 channels a popcount, four positions at a time.
#include <algorithm>
#include <cmath>

#include "kernels/product/words_border.h"

namespace bnn::product {
namespace {

using words::Plain;

// Rows that are X itself are aligned to words only.
uint64_t LoadLane(const uint8_t* at) {
  uint64_t lane;
  std::memcpy(&lane, at, sizeof lane);
  return lane;
}

template <Codes codes>
uint64_t Differing(uint64_t x, const uint64_t* lane) {
  if (codes == Codes::kBinary) return x ^ lane[0];
  if (codes == Codes::kTernaryEqual) return (x ^ lane[0]) & lane[kStrip];
  return ~x & lane[0];
}

constexpr int64_t kStepsAtOnce = 128;
constexpr int kPositionsAtOnce = 4;

// Lane words of X, one a step: where they lie, in bytes from the row of the first position.
struct Steps {
  const uint8_t* base;
  int64_t row_bytes;
  int64_t count;
  int64_t offsets[kStepsAtOnce];
};

// count[position] += popcounts of some steps for the channel that `code` begins with.
template <Codes codes, int kPositions>
void CountSteps(const Steps& steps, const uint64_t* code, int64_t* count) {
  constexpr int64_t kStep = (codes == Codes::kBinary ? 1 : 2) * kStrip;
  const uint8_t* base[kPositions];
  for (int p = 0; p < kPositions; ++p) base[p] = steps.base + p * steps.row_bytes;
  for (int64_t i = 0; i < steps.count; ++i, code += kStep) {
    const int64_t offset = steps.offsets[i];
#pragma GCC unroll 8
    for (int p = 0; p < kPositions; ++p) {
      count[p] += __builtin_popcountll(Differing<codes>(LoadLane(base[p] + offset), code));
    }
  }
}

template <Codes codes>
class ScalarMultiplier {
 public:
  explicit ScalarMultiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        lanes_(words::GroupLanes<Plain>(s_)),
        all_steps_(Taps(s_) * lanes_),
        borders_(b) {
    steps_.row_bytes = words::RowBytes<Plain>(s_);
    SetSteps(0);
  }

  void Run() {
    for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
      strip_ = StripAt(s_, index);
      const uint8_t* packed = b_.packed + static_cast<size_t>(index) * words::StripBytes<Plain>(s_);
      codes_ = reinterpret_cast<const uint64_t*>(packed + words::HeaderBytes(s_));
      compares_ = codes == Codes::kBinary && FindThresholds();
      borders_.Bind(reinterpret_cast<const int32_t*>(packed), compares_ ? least_ : nullptr);
      for (int64_t p = b_.position_begin; p < b_.position_end;) {
        const int64_t line = p / b_.plan->pitch, column = p % b_.plan->pitch;
        const int64_t left = std::min(b_.plan->valid - column, b_.position_end - p);
        if (left <= 0) {
          p += b_.plan->pitch - column;
        } else if (left >= kPositionsAtOnce) {
          Positions<kPositionsAtOnce>(p, line, column);
          p += kPositionsAtOnce;
        } else {
          Positions<1>(p, line, column);
          p += 1;
        }
      }
    }
  }

 private:
  using Set = typename words::BorderTotals<codes == Codes::kTernary ? 2 : 1>::Set;
  static constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = codes == Codes::kTernary ? 2 : 1;

  // Tells whether bits are nothing but sums >= whole numbers, and finds these.
  bool FindThresholds() {
    const Epilogue& e = b_.call->epilogue;
    if (b_.call->y != nullptr || s_.y != Element::kFloat32 || !StripsOwnWords(s_)) return false;
    if (!(e.acc_min == -INFINITY) || e.residual_stride != 0) return false;
    if (!(*static_cast<const float*>(e.residual) == 0.0f)) return false;
    for (int64_t i = 0; i < strip_.count; ++i) {
      const int64_t c = strip_.first + i;
      const auto at = [c](const Vector& v) { return v.data[c * v.stride]; };
      if (!(at(e.scale) == 1.0f && at(e.bias) == 0.0f && at(e.slope) == 1.0f)) return false;
      if (!(at(e.shift) == 0.0f)) return false;
      constexpr float kBeyond = 0x1p25f;  // no sum is as large; NaN is never reached
      const float t = at(e.threshold);
      least_[i] = static_cast<int32_t>(t <= kBeyond ? std::ceil(std::max(t, -kBeyond)) : kBeyond);
    }
    for (int64_t i = strip_.count; i < kStrip; ++i) least_[i] = 0;
    return true;
  }

  template <int kPositions>
  void Positions(int64_t position, int64_t line, int64_t column) {
    steps_.base = b_.rows.base + position * steps_.row_bytes + strip_.group * lanes_ * 8;
    int32_t counts[kSums * kStrip][kPositions] = {};
    for (int64_t first = 0; first < all_steps_; first += kStepsAtOnce) {
      if (all_steps_ > kStepsAtOnce) SetSteps(first);
      for (int64_t i = 0; i < kSums * kStrip; ++i) {
        int64_t count[kPositions] = {};
        CountSteps<codes, kPositions>(steps_, codes_ + i + first * kPlanes * kStrip, count);
        for (int p = 0; p < kPositions; ++p) counts[i][p] += static_cast<int32_t>(count[p]);
      }
    }
    const Set* sets[kPositions];
    for (int p = 0; p < kPositions; ++p) sets[p] = &borders_.At(line, column + p);
    if (compares_) return Compare<kPositions>(position, counts, sets);
    for (int p = 0; p < kPositions; ++p) {
      int32_t sums[kSums * kStrip];
      for (int64_t i = 0; i < kSums * kStrip; ++i) sums[i] = sets[p]->totals[i] - 2 * counts[i][p];
      FinishSums(position + p, sums);
    }
  }

  template <int kPositions>
  void Compare(int64_t position, const int32_t (*counts)[kPositions], const Set* const* sets) {
    uint32_t* out = b_.call->ybits + OutputAt(b_, position).words + strip_.first / kStrip;
    for (int p = 0; p < kPositions; ++p, out += bits::WordCount(s_.out_channels)) {
      uint32_t found = 0;
      for (int64_t i = 0; i < kStrip; ++i) {
        found |= static_cast<uint32_t>(counts[i][p] <= sets[p]->most[i]) << i;
      }
      *out = found & bits::LastWordMask(strip_.count);
    }
  }

  void SetSteps(int64_t first) {
    steps_.count = std::min(kStepsAtOnce, all_steps_ - first);
    int64_t tap = first / lanes_, lane = first % lanes_;
    for (int64_t i = 0; i < steps_.count; ++i) {
      const int64_t row = TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w);
      steps_.offsets[i] = row * steps_.row_bytes + lane * 8;
      if (++lane == lanes_) {
        lane = 0;
        ++tap;
      }
    }
  }

  // From sums[sums][kStrip] on; the first step of the epilogue is that of the codes.
  void FinishSums(int64_t position, const int32_t* sums) const {
    float acc[kStrip];
    for (int64_t i = 0; i < strip_.count; ++i) {
      const auto sum = static_cast<float>(sums[i]);
      const float negative = kSums == 2 ? static_cast<float>(sums[kStrip + i]) : 0.0f;
      acc[i] = codes == Codes::kBinary ? sum
                                       : Scaled(b_.call->epilogue, strip_.first + i, sum, negative);
    }
    Finish(b_, strip_, position, acc);
  }

  const Block& b_;
  const Shape& s_;
  const int64_t lanes_, all_steps_;
  words::BorderTotals<kSums> borders_;
  Steps steps_ = {};
  Strip strip_ = {};
  const uint64_t* codes_ = nullptr;
  bool compares_ = false;
  int32_t least_[kStrip];
};

void Multiply(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary:
      return ScalarMultiplier<Codes::kBinary>(b).Run();
    case Codes::kTernaryEqual:
      return ScalarMultiplier<Codes::kTernaryEqual>(b).Run();
    case Codes::kTernary:
      return ScalarMultiplier<Codes::kTernary>(b).Run();
  }
}

}  // namespace

const Variant bits_scalar = {
    "bits_scalar",
    words::Fits,
    words::RowBytes<Plain>,
    words::PlainDirect,
    words::Expand<Plain>,
    words::Fill<Plain>,
    words::PackedBytes<Plain>,
    words::Pack<Plain>,
    words::NoScratch,
    4,
    {1, 340.0, 0.0, 7.3, 0.0, 176.0},
    Multiply,
};

}  // namespace bnn::product
