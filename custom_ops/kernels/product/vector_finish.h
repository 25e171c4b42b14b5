// The epilogue in vectors of V::kLanes lanes; Finish is the same in plain loops.
//
// Sums arrive as sums[position][channel]. Where Y lies [.., channel] (a matrix product) or only
// bits are wanted, the lanes stay channels. Else they are transposed in registers and become
// positions, as Y and residual lie [.., channel, position]; outputs of consecutive positions are
// adjacent, whether or not a line ends between them.
#ifndef BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_
#define BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_

#include <cstring>
#include <type_traits>

#include "kernels/product/finish.h"

namespace bnn::product {
namespace {

// Epilogue parameters of one strip, one element a lane; lanes without a channel are neutral.
// Steps that change no value are left out.
struct StripEpilogue {
  alignas(64) float scale[kStrip], bias[kStrip], slope[kStrip], shift[kStrip], threshold[kStrip];
  alignas(64) float w_pos[kStrip], w_neg[kStrip];
  alignas(64) int32_t whole_threshold[kStrip];  // sum >= threshold as integers
  float acc_min;
  bool has_weights, has_min, has_scale, has_bias, has_residual, has_slope, has_shift;

  // Tells whether bits are nothing but sums >= threshold.
  bool OnlyThreshold() const {
    return !(has_weights || has_min || has_scale || has_bias || has_residual || has_slope ||
             has_shift);
  }
};

// Copies the lanes and tells whether any differs from the neutral value.
inline bool LoadLanes(const Vector& v, const Strip& strip, float neutral, float* lanes) {
  if (v.stride == 0) {
    for (int64_t i = 0; i < kStrip; ++i) lanes[i] = v.data[0];
    return !(v.data[0] == neutral);
  }
  int differing = 0;
  for (int64_t i = 0; i < kStrip; ++i) lanes[i] = neutral;
  for (int64_t i = 0; i < strip.count; ++i) {
    lanes[i] = v.data[strip.first + i];
    differing += !(lanes[i] == neutral);
  }
  return differing != 0;
}

// The least sum that reaches the threshold: sums are at most 2^24 in size, NaN is never reached.
template <typename V>
void LoadWholeThresholds(const float* thresholds, int32_t* whole) {
  const auto beyond = V::Broadcast(0x1p25f);
  for (int64_t i = 0; i < kStrip; i += V::kLanes) {
    const auto t = V::Load(thresholds + i);
    // Max and Select turn NaN to `beyond`; the rest is cut to what int32 holds.
    const auto low = V::Max(V::Broadcast(-0x1p25f), V::Ceil(t));
    V::StoreInts(whole + i, V::Select(V::GreaterEqual(beyond, t), low, beyond));
  }
}

inline float FirstResidual(const Block& b) {
  float value;
  LoadReals(b.shape->y, b.call->epilogue.residual, 1, &value);
  return value;
}

template <typename V>
StripEpilogue LoadStripEpilogue(const Block& b, const Strip& strip) {
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
  LoadWholeThresholds<V>(lanes.threshold, lanes.whole_threshold);
  lanes.has_weights = false;
  if (b.shape->codes != Codes::kBinary) {
    const bool positive = LoadLanes(e.w_pos, strip, 1.0f, lanes.w_pos);
    const bool negative = LoadLanes(e.w_neg, strip, 1.0f, lanes.w_neg);
    lanes.has_weights = positive || negative;
  }
  return lanes;
}

// Finishes blocks of positions for kPart channels of a strip, at most V::kLanes outputs a step.
// kPart is 16, half a word of Ybits, or 32, a whole one. Sums are int32_t or, for float X, float.
template <typename V, int kPart, typename Sum = int32_t>
class Finisher {
 public:
  static constexpr int kGroup = V::kLanes;

  // Binds to channels lane ... lane + kPart - 1 of a strip.
  void Bind(const Block& b, const Strip& strip, int lane, const StripEpilogue* epilogue) {
    next_ = -1;
    b_ = &b;
    e_ = epilogue;
    strip_ = strip;
    lane_ = lane;
    codes_ = b.shape->codes;
    half_ = b.shape->y == Element::kFloat16;
    // Lines without gaps are one line.
    const bool gaps = b.plan->pitch != b.plan->valid;
    pitch_ = gaps ? b.plan->pitch : kEndless;
    valid_ = gaps ? b.plan->valid : kEndless;
    plane_elements_ = 0;
    row_words_ = bits::WordCount(b.shape->out_channels);
    const int64_t left = strip.count - lane;
    channels_ = static_cast<int>(left < kPart ? left : kPart);
    store_ = b.call->ybits == nullptr                  ? Store::kNone
             : !StripsOwnWords(*b.shape)               ? Store::kShared
             : kPart == kStrip || strip.count <= kPart ? Store::kWord
                                                       : Store::kHalf;
    residual_ = FirstResidual(b);
    const int64_t area = b.plan->out_h * b.plan->out_w;
    channel_step_ = area;
    position_step_ = area > 1 ? 1 : b.shape->out_channels;
    own_residual_ = b.call->epilogue.residual_stride != 0;
    const bool only_bits = b.call->y == nullptr && !own_residual_;
    const bool whole = std::is_same_v<Sum, int32_t> && codes_ != Codes::kTernary && !half_ &&
                       epilogue->OnlyThreshold();
    mode_ = only_bits ? (whole ? Mode::kCompare : Mode::kBits)
                      : (area > 1 ? Mode::kPositions : Mode::kChannels);
  }

  // Tells whether all that is wanted are words of the bits sum >= whole_threshold.
  bool ComparesWords() const { return mode_ == Mode::kCompare && store_ == Store::kWord; }

  // Takes the sums of positions begin ... begin + count - 1: row p - begin holds kPart sums, and
  // for Codes::kTernary those of the second plane `second` elements further on.
  void Start(const Sum* sums, int64_t row_elements, int64_t second, int64_t begin, int64_t count) {
    row_ = sums;
    row_elements_ = row_elements;
    second_ = second;
    left_ = count;
    if (begin != next_) {  // else the place of the next output is known
      column_ = begin % pitch_;
      const int64_t line_end = column_ < valid_ ? begin : begin + pitch_ - column_;
      const Output out = OutputAt(*b_, line_end);
      first_ = out.first + (strip_.first + lane_) * channel_step_;
      words_ = out.words;
    }
    next_ = begin + count;
    if (column_ >= valid_) Skip();
  }

  // Tells whether StartPlanes may be used.
  bool TakesPlanes() const { return mode_ == Mode::kPositions; }

  // As Start, but sums are [channel][position], those of a channel `plane_elements` from the next.
  // Whole vectors are read.
  void StartPlanes(const Sum* sums, int64_t plane_elements, int64_t second, int64_t begin,
                   int64_t count) {
    Start(sums, 1, second, begin, count);
    plane_elements_ = plane_elements;
  }

  // Finishes the next outputs. Returns false when nothing is left.
  bool Step() {
    if (left_ <= 0) return false;
    const int64_t count = plane_elements_ != 0        ? StepPlanes()
                          : mode_ == Mode::kPositions ? StepPositions()
                                                      : StepRun();
    first_ += count * position_step_;
    words_ += count * row_words_;
    return left_ > 0;
  }

  void Finish() {
    while (Step()) {
    }
  }

 private:
  using Float = typename V::Float;
  enum class Store : uint8_t { kNone, kWord, kHalf, kShared };
  // kCompare: bits are sums >= threshold. kBits: only bits. kChannels: Y is [position, channel].
  // kPositions: Y or residual is [channel, position].
  enum class Mode : uint8_t { kCompare, kBits, kChannels, kPositions };

  static constexpr int64_t kEndless = int64_t{1} << 62;

  static int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

  // Steps over the positions between the last output of a line and the next line, those of them
  // that belong to this block.
  void Skip() {
    const int64_t gap = Least(pitch_ - column_, left_);
    row_ += gap * row_elements_;
    left_ -= gap;
    column_ += gap;
    if (column_ == pitch_) column_ = 0;
  }

  void Advance(int64_t count) {
    column_ += count;
    left_ -= count;
    row_ += count * row_elements_;
    if (column_ >= valid_) Skip();
  }

  // Outputs of one line, whose sums follow each other.
  int64_t StepRun() {
    const int64_t run = Least(Least(valid_ - column_, left_), kGroup);
    const int count = static_cast<int>(run);
    if (mode_ == Mode::kCompare) {
      FinishCompare(count);
    } else if (half_) {
      mode_ == Mode::kBits ? FinishBits<uint16_t>(count) : FinishChannels<uint16_t>(count);
    } else {
      mode_ == Mode::kBits ? FinishBits<float>(count) : FinishChannels<float>(count);
    }
    Advance(run);
    return run;
  }

  // Outputs of as many lines as it takes to fill the lanes.
  int64_t StepPositions() {
    const Sum* rows[kGroup];
    int count = 0;
    do {
      const int64_t run = Least(Least(valid_ - column_, left_), kGroup - count);
      for (int64_t i = 0; i < run; ++i) rows[count++] = row_ + i * row_elements_;
      Advance(run);
    } while (count < kGroup && left_ > 0);
    if (half_) {
      FinishPositions<uint16_t>(rows, count);
    } else {
      FinishPositions<float>(rows, count);
    }
    return count;
  }

  // Outputs of one line whose sums are positions already.
  int64_t StepPlanes() {
    const int64_t run = Least(Least(valid_ - column_, left_), kGroup);
    if (half_) {
      FinishPlanes<uint16_t>(static_cast<int>(run));
    } else {
      FinishPlanes<float>(static_cast<int>(run));
    }
    Advance(run);
    return run;
  }

  // Up to and including bias. `lanes` turns an array of StripEpilogue to the parameters of v.
  template <typename Lanes>
  Float FirstSteps(Float v, const Sum* second, const Lanes& lanes) const {
    if (codes_ != Codes::kBinary) v = V::Mul(v, lanes(e_->w_pos));
    if (codes_ == Codes::kTernary) v = V::Sub(v, V::Mul(V::FromSums(second), lanes(e_->w_neg)));
    if (e_->has_min) v = V::Max(V::Broadcast(e_->acc_min), v);
    if (e_->has_scale) v = V::Mul(v, lanes(e_->scale));
    if (e_->has_bias) v = V::Add(v, lanes(e_->bias));
    return v;
  }

  // Lanes are channels.
  Float FirstSteps(const Sum* sums, int part) const {
    const int at = lane_ + part;
    return FirstSteps(V::FromSums(sums + part), sums + second_ + part,
                      [at](const float* array) { return V::Load(array + at); });
  }

  // From slope on, up to the value that Y holds.
  template <typename T>
  Float LastSteps(Float v, Float slope, Float shift) const {
    if (e_->has_slope) v = V::Select(V::GreaterEqual(v, V::Zero()), v, V::Mul(v, slope));
    if (e_->has_shift) v = V::Add(v, shift);
    return sizeof(T) == 2 ? V::RoundToHalf(v) : v;
  }

  void FinishCompare(int count) {
    const Sum* row = row_;
    const int32_t* threshold = e_->whole_threshold + lane_;
    if (kPart == V::kLanes && store_ == Store::kHalf && channels_ == kPart) {
      const auto least = V::LoadInts(threshold);
      const int64_t row_elements = row_elements_, step = row_words_ * 4;
      uint8_t* half = HalfWord(0);
      for (int p = 0; p < count; ++p, row += row_elements, half += step) {
        typename V::Bits bits;
        bits.Add(0, V::GreaterEqualInts(row, least));
        StoreHalf(half, bits.Word());
      }
      return;
    }
    for (int p = 0; p < count; ++p, row += row_elements_) {
      typename V::Bits bits;
      for (int part = 0; part < kPart; part += V::kLanes) {
        bits.Add(part, V::GreaterEqualInts(row + part, V::LoadInts(threshold + part)));
      }
      StorePartBits(p, bits.Word());
    }
  }

  // Lanes are channels; only bits are wanted. Copies keep the parameters in registers, which the
  // stores of bits would otherwise force to be read again.
  template <typename T>
  void FinishBits(int count) {
    const Finisher f = *this;
    const StripEpilogue& e = *f.e_;
    const bool has_residual = e.has_residual;
    const Sum* row = f.row_;
    const Float residual = V::Broadcast(f.residual_);
    for (int p = 0; p < count; ++p, row += f.row_elements_) {
      typename V::Bits bits;
      for (int part = 0; part < kPart; part += V::kLanes) {
        const int at = f.lane_ + part;
        Float v = f.FirstSteps(row, part);
        if (has_residual) v = V::Add(v, residual);
        v = f.template LastSteps<T>(v, V::Load(e.slope + at), V::Load(e.shift + at));
        bits.Add(part, V::GreaterEqual(v, V::Load(e.threshold + at)));
      }
      f.StorePartBits(p, bits.Word());
    }
  }

  // Lanes are channels. Y, if there is one, is [position, channel].
  template <typename T>
  void FinishChannels(int count) {
    const auto* residual = static_cast<const T*>(b_->call->epilogue.residual) + first_;
    auto* y = static_cast<T*>(b_->call->y) + first_;
    const bool has_y = b_->call->y != nullptr;
    const Sum* row = row_;
    for (int p = 0; p < count; ++p, row += row_elements_) {
      typename V::Bits bits;
      for (int part = 0; part < channels_; part += V::kLanes) {
        const int lanes = channels_ - part < V::kLanes ? channels_ - part : V::kLanes;
        const int64_t index = p * position_step_ + part;
        Float v = FirstSteps(row, part);
        if (own_residual_) {
          v = V::Add(v, V::LoadPart(residual + index, lanes));
        } else if (e_->has_residual) {
          v = V::Add(v, V::Broadcast(residual_));
        }
        const int at = lane_ + part;
        v = LastSteps<T>(v, V::Load(e_->slope + at), V::Load(e_->shift + at));
        if (has_y) V::StorePart(y + index, lanes, v);
        bits.Add(part, V::GreaterEqual(v, V::Load(e_->threshold + at)));
      }
      StorePartBits(p, bits.Word());
    }
  }

  // Lanes become positions.
  template <typename T>
  void FinishPositions(const Sum* const* rows, int count) {
    typename V::Int bits = V::ZeroWords();
    for (int part = 0; part < channels_; part += V::kLanes) {
      Float v[V::kLanes];
      for (int p = 0; p < V::kLanes; ++p) v[p] = FirstSteps(rows[p < count ? p : 0], part);
      V::Transpose(v);
      const int lanes = channels_ - part < V::kLanes ? channels_ - part : V::kLanes;
      bits = FinishTransposed<T>(v, lanes, part, count, bits);
    }
    StorePositionBits(bits, count);
  }

  // Lanes are positions from the start.
  template <typename T>
  void FinishPlanes(int count) {
    typename V::Int bits = V::ZeroWords();
    for (int part = 0; part < channels_; part += V::kLanes) {
      const int channels = channels_ - part < V::kLanes ? channels_ - part : V::kLanes;
      Float v[V::kLanes];
      for (int i = 0; i < channels; ++i) {
        const int at = lane_ + part + i;
        const Sum* sums = row_ + (part + i) * plane_elements_;
        v[i] = FirstSteps(V::FromSums(sums), sums + second_,
                          [at](const float* array) { return V::Broadcast(array[at]); });
      }
      bits = FinishTransposed<T>(v, channels, part, count, bits);
    }
    StorePositionBits(bits, count);
  }

  void StorePositionBits(typename V::Int bits, int count) const {
    if (store_ == Store::kNone) return;
    alignas(64) uint32_t words[kGroup];
    V::StoreWords(words, bits);
    for (int p = 0; p < count; ++p) StorePartBits(p, words[p]);
  }

  template <typename T>
  typename V::Int FinishTransposed(const Float* rows, int channels, int part, int count,
                                   typename V::Int bits) {
    const int64_t first = first_ + part * channel_step_;
    const auto* residual = static_cast<const T*>(b_->call->epilogue.residual) + first;
    auto* y = static_cast<T*>(b_->call->y) + first;
    const bool has_y = b_->call->y != nullptr;
    for (int i = 0; i < channels; ++i, residual += channel_step_, y += channel_step_) {
      const int at = lane_ + part + i;
      Float v = rows[i];
      if (own_residual_) {
        v = V::Add(v, V::LoadPart(residual, count));
      } else if (e_->has_residual) {
        v = V::Add(v, V::Broadcast(residual_));
      }
      v = LastSteps<T>(v, V::Broadcast(e_->slope[at]), V::Broadcast(e_->shift[at]));
      if (has_y) V::StorePart(y, count, v);
      bits = V::OrBit(bits, V::GreaterEqual(v, V::Broadcast(e_->threshold[at])), 1u << (part + i));
    }
    return bits;
  }

  // Bits of lanes that are no channel are dropped.
  void StorePartBits(int p, uint32_t bits) const {
    if (store_ == Store::kNone) return;
    bits &= bits::LowMask(channels_);
    const int64_t words = words_ + p * row_words_;
    if (store_ == Store::kShared) {
      StoreBits(*b_, {strip_.group, strip_.first + lane_, channels_}, words, bits);
      return;
    }
    if (store_ == Store::kWord) {
      b_->call->ybits[words + strip_.first / bits::kWordBits] = bits;
    } else {
      StoreHalf(HalfWord(p), bits);
    }
  }

  uint8_t* HalfWord(int p) const {
    const int64_t word = words_ + p * row_words_ + strip_.first / bits::kWordBits;
    return reinterpret_cast<uint8_t*>(b_->call->ybits + word) + lane_ / 8;
  }

  static void StoreHalf(uint8_t* at, uint32_t bits) {
    const auto half = static_cast<uint16_t>(bits);
    std::memcpy(at, &half, sizeof half);
  }

  const Block* b_ = nullptr;
  const StripEpilogue* e_ = nullptr;
  Strip strip_ = {};
  Codes codes_ = Codes::kBinary;
  Mode mode_ = Mode::kBits;
  Store store_ = Store::kNone;
  bool half_ = false, own_residual_ = false;
  int lane_ = 0, channels_ = 0;
  float residual_ = 0.0f;
  int64_t pitch_ = 0, valid_ = 0, row_words_ = 0, channel_step_ = 0, position_step_ = 0;
  // Of the next output: its sums, the elements of Y and Ybits, its place in the line.
  const Sum* row_ = nullptr;
  int64_t row_elements_ = 0, plane_elements_ = 0, second_ = 0, first_ = 0, words_ = 0, column_ = 0,
          left_ = 0;
  int64_t next_ = -1;  // position after those of the last Start
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_VECTOR_FINISH_H_
