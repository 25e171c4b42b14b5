// Counts differing bits in vectors, one output channel a 64-bit lane: the loops that the variants
// of the two lane formats share. `I` holds the instructions (x86_avx2_bits.cc is an example):
//
//   Format, Vector (of the epilogue), Word (a vector of 64-bit lanes)
//   kLanes        lanes of a Word
//   kWords        Words of one pass; kLanes * kWords channels of a strip are counted at a time
//   kPositions    positions that share a loaded weight; with kWords it fills the registers
//   kMostCounts   how many Count results a Word can sum up before Drain
//   Zero(), Broadcast(x), Xor(x, code), AndNot(x, code), XorAnd(x, code, mask)
//   Count(sum, bits)   sum plus the number of bits, in a form that Drain undoes
//   Drain(sum, counts) stores the sums as int32 counts[kLanes]
#ifndef BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_
#define BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_

#include "kernels/product/vector_finish.h"
#include "kernels/product/words.h"

namespace bnn::product {
namespace {

template <typename I, Codes codes>
class LaneMultiplier {
 public:
  explicit LaneMultiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        lanes_(words::GroupLanes<Format>(s_)),
        row_bytes_(s_.group * lanes_ * 8),
        interior_(words::FindInterior(s_, *b.plan)) {}

  void Run() {
    for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
      strip_ = StripAt(s_, index);
      const uint8_t* packed =
          b_.packed + static_cast<size_t>(index) * words::StripBytes<Format>(s_);
      header_ = reinterpret_cast<const int32_t*>(packed);
      codes_ = reinterpret_cast<const uint64_t*>(packed + words::HeaderBytes(s_));
      const StripEpilogue epilogue = LoadStripEpilogue<typename I::Vector>(b_, strip_);
      finisher_.Bind(b_, strip_, 0, &epilogue);
      RunStrip();
    }
  }

 private:
  using Format = typename I::Format;
  using Word = typename I::Word;
  static constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int64_t kPass = I::kLanes * I::kWords;
  static constexpr int64_t kChunk = 16;  // positions whose sums wait for the epilogue

  // Positions that are outputs, a piece of a line at a time.
  void RunStrip() {
    for (int64_t p = b_.position_begin; p < b_.position_end;) {
      const int64_t line = p / b_.plan->pitch, column = p % b_.plan->pitch;
      int64_t run = b_.plan->valid - column;
      if (run <= 0) {
        p += b_.plan->pitch - column;
        continue;
      }
      if (run > b_.position_end - p) run = b_.position_end - p;
      if (run > kChunk) run = kChunk;
      for (int64_t i = 0; i < run;) {
        int32_t* sums = sums_ + i * kSums * kStrip;
        const int64_t left = run - i;
        if (left >= I::kPositions) {
          Count<I::kPositions>(p + i, sums);
          i += I::kPositions;
        } else if (left >= 2) {
          Count<2>(p + i, sums);
          i += 2;
        } else {
          Count<1>(p + i, sums);
          i += 1;
        }
      }
      for (int64_t i = 0; i < run; ++i) Sum(line, column + i, sums_ + i * kSums * kStrip);
      finisher_.Start(sums_, kSums * kStrip, kStrip, p, run);
      finisher_.Finish();
      p += run;
    }
  }

  // Counts of kCount positions, [position][sum][channel].
  template <int kCount>
  void Count(int64_t position, int32_t* counts) {
    for (int sum = 0; sum < kSums; ++sum) {
      for (int64_t pass = 0; pass < kStrip; pass += kPass) {
        CountPass<kCount>(position, codes_ + sum * kStrip + pass, counts + sum * kStrip + pass);
      }
    }
  }

  template <int kCount>
  void CountPass(int64_t position, const uint64_t* code, int32_t* counts) {
    Word sums[kCount][I::kWords];
    Clear<kCount>(sums);
    int64_t room = I::kMostCounts;
    bool drained = false;
    for (int64_t ky = 0; ky < s_.kernel_h; ++ky) {
      for (int64_t kx = 0; kx < s_.kernel_w; ++kx) {
        const int64_t row = position + TapRow(*b_.plan, ky, kx);
        const uint8_t* x = b_.rows.base + row * row_bytes_ + strip_.group * lanes_ * 8;
        for (int64_t i = 0; i < lanes_;) {
          const int64_t stop = lanes_ - i < room ? lanes_ : i + room;
          room -= stop - i;
          for (; i < stop; ++i, x += 8, code += kPlanes * kStrip) CountWord<kCount>(x, code, sums);
          if (room > 0) continue;
          DrainAll<kCount>(sums, drained, counts);
          Clear<kCount>(sums);
          room = I::kMostCounts;
          drained = true;
        }
      }
    }
    DrainAll<kCount>(sums, drained, counts);
  }

  template <int kCount>
  void CountWord(const uint8_t* x, const uint64_t* code, Word (*sums)[I::kWords]) const {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p) {
      const Word value = I::Broadcast(x + p * row_bytes_);
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) {
        const uint64_t* at = code + w * I::kLanes;
        Word bits;
        if (codes == Codes::kBinary) bits = I::Xor(value, at);
        if (codes == Codes::kTernary) bits = I::AndNot(value, at);
        if (codes == Codes::kTernaryEqual) bits = I::XorAnd(value, at, at + kStrip);
        sums[p][w] = I::Count(sums[p][w], bits);
      }
    }
  }

  template <int kCount>
  static void Clear(Word (*sums)[I::kWords]) {
    for (int p = 0; p < kCount; ++p) {
      for (int w = 0; w < I::kWords; ++w) sums[p][w] = I::Zero();
    }
  }

  // Stores the counts, or adds them to those that were drained before.
  template <int kCount>
  static void DrainAll(const Word (*sums)[I::kWords], bool add, int32_t* counts) {
    for (int p = 0; p < kCount; ++p) {
      for (int w = 0; w < I::kWords; ++w) {
        int32_t* at = counts + p * kSums * kStrip + w * I::kLanes;
        if (!add) {
          I::Drain(sums[p][w], at);
          continue;
        }
        int32_t more[I::kLanes];
        I::Drain(sums[p][w], more);
        for (int i = 0; i < I::kLanes; ++i) at[i] += more[i];
      }
    }
  }

  // Counts become sums of x*code.
  void Sum(int64_t line, int64_t column, int32_t* counts) const {
    for (int64_t i = 0; i < kSums * kStrip; ++i) counts[i] = header_[i] - 2 * counts[i];
    if (!interior_.Holds(line, column)) words::AddOutsideTaps(b_, header_, line, column, counts);
  }

  const Block& b_;
  const Shape& s_;
  const int64_t lanes_, row_bytes_;
  const words::Interior interior_;
  Strip strip_ = {};
  const int32_t* header_ = nullptr;
  const uint64_t* codes_ = nullptr;
  Finisher<typename I::Vector, static_cast<int>(kStrip)> finisher_;
  alignas(64) int32_t sums_[kChunk * kSums * kStrip];
};

template <typename I>
void MultiplyLanes(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary:
      return LaneMultiplier<I, Codes::kBinary>(b).Run();
    case Codes::kTernaryEqual:
      return LaneMultiplier<I, Codes::kTernaryEqual>(b).Run();
    case Codes::kTernary:
      return LaneMultiplier<I, Codes::kTernary>(b).Run();
  }
}

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_
