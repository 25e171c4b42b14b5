// The epilogue in vectors of V::kLanes lanes; Finish is the same in plain loops.
//
// Sums arrive as sums[position][channel]. Where Y lies [.., channel] (a matrix product) or only
// bits are wanted, the lanes stay channels. Else they are transposed in registers and become
// positions, as Y and residual lie [.., channel, position]; outputs of consecutive positions are
// adjacent, whether or not a line ends between them.
#ifndef BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_
#define BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_

#include <cstring>

#include "kernels/product/finish.h"

namespace bnn::product {
namespace {

// Epilogue parameters of one strip, one element a lane; lanes without a channel are neutral.
// Steps that change no value are left out.
struct StripEpilogue {
  alignas(64) float scale[kStrip], bias[kStrip], slope[kStrip], shift[kStrip], threshold[kStrip];
  alignas(64) float w_pos[kStrip], w_neg[kStrip];
  float acc_min;
  bool has_min, has_scale, has_bias, has_residual, has_slope, has_shift;
};

// Copies the lanes and tells whether any differs from the neutral value.
inline bool LoadLanes(const Vector& v, const Strip& strip, float neutral, float* lanes) {
  bool used = false;
  for (int64_t i = 0; i < kStrip; ++i) {
    lanes[i] = i < strip.count ? v.data[(strip.first + i) * v.stride] : neutral;
    used |= !(lanes[i] == neutral);
  }
  return used;
}

inline float FirstResidual(const Block& b) {
  float value;
  LoadReals(b.shape->y, b.call->epilogue.residual, 1, &value);
  return value;
}

inline StripEpilogue LoadStripEpilogue(const Block& b, const Strip& strip) {
  const Epilogue& e = b.call->epilogue;
  StripEpilogue lanes;
  lanes.acc_min = e.acc_min;
  lanes.has_min = !(e.acc_min == -__builtin_inff());
  lanes.has_scale = LoadLanes(e.scale, strip, 1.0f, lanes.scale);
  lanes.has_bias = LoadLanes(e.bias, strip, 0.0f, lanes.bias);
  lanes.has_residual = e.residual_stride != 0 || !(FirstResidual(b) == 0.0f);
  lanes.has_slope = LoadLanes(e.slope, strip, 1.0f, lanes.slope);
  lanes.has_shift = LoadLanes(e.shift, strip, 0.0f, lanes.shift);
  LoadLanes(e.threshold, strip, 0.0f, lanes.threshold);
  if (b.shape->codes != Codes::kBinary) {
    LoadLanes(e.w_pos, strip, 1.0f, lanes.w_pos);
    LoadLanes(e.w_neg, strip, 1.0f, lanes.w_neg);
  }
  return lanes;
}

// Finishes blocks of positions for kPart channels of a strip, a group of V::kLanes outputs a step.
// kPart is 16, half a word of Ybits, or 32, a whole one.
template <typename V, int kPart>
class Finisher {
 public:
  static constexpr int kGroup = V::kLanes;

  Finisher(const Block& b, const Strip& strip, int lane, const StripEpilogue& epilogue)
      : b_(b), s_(*b.shape), e_(epilogue), strip_(strip), lane_(lane) {
    const int64_t left = strip.count - lane;
    channels_ = static_cast<int>(left < kPart ? left : kPart);
    area_ = b.plan->out_h * b.plan->out_w;
    as_positions_ = area_ > 1 && (b.call->y != nullptr || b.call->epilogue.residual_stride != 0);
    residual_ = FirstResidual(b);
  }

  // Takes the sums of positions begin ... begin + count - 1: row p - begin holds kPart sums, and for
  // Codes::kTernary those of the second plane `second` elements further on.
  void Start(const int32_t* sums, int64_t row_elements, int64_t second, int64_t begin,
             int64_t count) {
    sums_ = sums;
    row_elements_ = row_elements;
    second_ = second;
    begin_ = position_ = begin;
    end_ = begin + count;
    column_ = begin % b_.plan->pitch;
  }

  // Finishes the next group. Returns false when nothing is left.
  bool Step() {
    const int32_t* rows[kGroup];
    int count = 0;
    int64_t first = 0;
    for (; position_ < end_ && count < kGroup; ++position_) {
      if (column_ < b_.plan->valid) {
        if (count == 0) first = position_;
        rows[count++] = sums_ + (position_ - begin_) * row_elements_;
      }
      if (++column_ == b_.plan->pitch) column_ = 0;
    }
    if (count == 0) return false;
    const Output out = OutputAt(b_, first);
    if (s_.y == Element::kFloat16) {
      FinishGroup<uint16_t>(rows, count, out);
    } else {
      FinishGroup<float>(rows, count, out);
    }
    return position_ < end_;
  }

  void Finish() {
    while (Step()) {
    }
  }

 private:
  using Float = typename V::Float;

  template <typename T>
  void FinishGroup(const int32_t* const* rows, int count, const Output& out) {
    if (as_positions_) {
      FinishPositions<T>(rows, count, out);
    } else {
      FinishChannels<T>(rows, count, out);
    }
  }

  // Up to and including bias, whose parameters go with the channel lanes.
  Float FirstSteps(const int32_t* sums, int part) const {
    const int at = lane_ + part;
    Float v = V::FromInts(sums + part);
    if (s_.codes != Codes::kBinary) v = V::Mul(v, V::Load(e_.w_pos + at));
    if (s_.codes == Codes::kTernary) {
      v = V::Sub(v, V::Mul(V::FromInts(sums + second_ + part), V::Load(e_.w_neg + at)));
    }
    if (e_.has_min) v = V::Max(V::Broadcast(e_.acc_min), v);
    if (e_.has_scale) v = V::Mul(v, V::Load(e_.scale + at));
    if (e_.has_bias) v = V::Add(v, V::Load(e_.bias + at));
    return v;
  }

  // From slope on, up to the value that Y holds.
  template <typename T>
  Float LastSteps(Float v, Float slope, Float shift) const {
    if (e_.has_slope) v = V::Select(V::GreaterEqual(v, V::Zero()), v, V::Mul(v, slope));
    if (e_.has_shift) v = V::Add(v, shift);
    return sizeof(T) == 2 ? V::RoundToHalf(v) : v;
  }

  // Lanes are channels. Y, if there is one, is [position, channel].
  template <typename T>
  void FinishChannels(const int32_t* const* rows, int count, const Output& out) {
    const auto* residual = static_cast<const T*>(b_.call->epilogue.residual);
    auto* y = static_cast<T*>(b_.call->y);
    const bool own_residual = b_.call->epilogue.residual_stride != 0;
    for (int p = 0; p < count; ++p) {
      uint32_t bits = 0;
      for (int part = 0; part < channels_; part += V::kLanes) {
        const int lanes = channels_ - part < V::kLanes ? channels_ - part : V::kLanes;
        const int64_t index = out.first + p * s_.out_channels + strip_.first + lane_ + part;
        Float v = FirstSteps(rows[p], part);
        if (own_residual) {
          v = V::Add(v, V::LoadPart(residual + index, lanes));
        } else if (e_.has_residual) {
          v = V::Add(v, V::Broadcast(residual_));
        }
        const int at = lane_ + part;
        v = LastSteps<T>(v, V::Load(e_.slope + at), V::Load(e_.shift + at));
        if (y != nullptr) V::StorePart(y + index, lanes, v);
        bits |= V::Bits(V::GreaterEqual(v, V::Load(e_.threshold + at))) << part;
      }
      if (b_.call->ybits != nullptr) StorePartBits(p, out, bits);
    }
  }

  // Lanes become positions.
  template <typename T>
  void FinishPositions(const int32_t* const* rows, int count, const Output& out) {
    alignas(64) uint32_t words[kGroup];
    typename V::Int bits = V::ZeroWords();
    for (int part = 0; part < channels_; part += V::kLanes) {
      Float v[V::kLanes];
      for (int p = 0; p < V::kLanes; ++p) v[p] = FirstSteps(rows[p < count ? p : 0], part);
      V::Transpose(v);
      const int lanes = channels_ - part < V::kLanes ? channels_ - part : V::kLanes;
      bits = FinishTransposed<T>(v, lanes, part, count, out, bits);
    }
    if (b_.call->ybits == nullptr) return;
    V::StoreWords(words, bits);
    for (int p = 0; p < count; ++p) StorePartBits(p, out, words[p]);
  }

  template <typename T>
  typename V::Int FinishTransposed(const Float* rows, int channels, int part, int count,
                                   const Output& out, typename V::Int bits) {
    const int64_t first = out.first + (strip_.first + lane_ + part) * area_;
    const bool own_residual = b_.call->epilogue.residual_stride != 0;
    const auto* residual = static_cast<const T*>(b_.call->epilogue.residual);
    auto* y = static_cast<T*>(b_.call->y);
    for (int i = 0; i < channels; ++i) {
      const int at = lane_ + part + i;
      Float v = rows[i];
      if (own_residual) {
        v = V::Add(v, V::LoadPart(residual + first + i * area_, count));
      } else if (e_.has_residual) {
        v = V::Add(v, V::Broadcast(residual_));
      }
      v = LastSteps<T>(v, V::Broadcast(e_.slope[at]), V::Broadcast(e_.shift[at]));
      if (y != nullptr) V::StorePart(y + first + i * area_, count, v);
      bits = V::OrBit(bits, V::GreaterEqual(v, V::Broadcast(e_.threshold[at])), 1u << (part + i));
    }
    return bits;
  }

  // Bits of lane channels that do not exist are dropped.
  void StorePartBits(int p, const Output& out, uint32_t bits) const {
    bits &= bits::LowMask(channels_);
    const int64_t words = out.words + p * bits::WordCount(s_.out_channels);
    if (kPart == kStrip || strip_.count <= kPart) {
      StoreBits(b_, strip_, words, bits);
    } else if (StripsOwnWords(s_)) {
      const auto half = static_cast<uint16_t>(bits);
      auto* word = reinterpret_cast<uint8_t*>(b_.call->ybits + words +
                                              strip_.first / bits::kWordBits);
      std::memcpy(word + lane_ / 8, &half, sizeof half);
    } else {
      StoreBits(b_, {strip_.group, strip_.first + lane_, channels_}, words, bits);
    }
  }

  const Block& b_;
  const Shape& s_;
  const StripEpilogue& e_;
  Strip strip_;
  int lane_, channels_;
  int64_t area_;
  bool as_positions_;
  float residual_;
  const int32_t* sums_ = nullptr;
  int64_t row_elements_ = 0, second_ = 0, begin_ = 0, position_ = 0, end_ = 0, column_ = 0;
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_
