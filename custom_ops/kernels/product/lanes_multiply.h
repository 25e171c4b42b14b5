// Counts differing bits in vectors, one output channel a 64-bit lane: the loops that the variants
// of the two lane formats share. `I` holds the instructions (x86_avx2_bits.cc is an example):
//
//   Format, Vector (of the epilogue), Word (a vector of 64-bit lanes)
//   Count         what counts the bits of kLanes channels; Zero() is none
//   kLanes        lanes of a Word
//   kWords        Words of one pass; kLanes * kWords channels of a strip are counted at a time
//   kPositions    positions that share a loaded weight; with kWords it fills the registers
//   kMostWords    lane words that a Count can hold before Total
//   One<codes>(x, code)                       the Count of one lane word of X
//   AddTwo<codes>(count, x, code, x2, code2)  adds two
//   Total(count)                          the counts as a Word
//   Plus(a, b), StoreWord(p, word), LoadWord(p)
//   AtMost(word, most)                    bit i tells whether lane i is at most most[i]
//   StoreSums(word, totals, sums)         sums = totals - 2*counts as int32
#ifndef BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_
#define BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_

#include "kernels/product/vector_finish.h"
#include "kernels/product/words_border.h"

#define BNN_INLINE __attribute__((always_inline)) inline

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
        taps_(Taps(s_)),
        borders_(b) {
    for (int64_t tap = 0; tap < taps_ && tap < kKnownTaps; ++tap) offsets_[tap] = FindOffset(tap);
  }

  void Run() {
    for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
      strip_ = StripAt(s_, index);
      const uint8_t* packed =
          b_.packed + static_cast<size_t>(index) * words::StripBytes<Format>(s_);
      codes_ = reinterpret_cast<const uint64_t*>(packed + words::HeaderBytes(s_));
      const StripEpilogue epilogue = LoadStripEpilogue<typename I::Vector>(b_, strip_);
      finisher_.Bind(b_, strip_, 0, &epilogue);
      const bool compares = finisher_.ComparesWords();
      borders_.Bind(reinterpret_cast<const int32_t*>(packed),
                    compares ? epilogue.whole_threshold : nullptr);
      if (compares) {
        RunStrip([this](int64_t p, int64_t line, int64_t column, int64_t run) {
          CompareRun(p, line, column, run);
        });
      } else {
        RunStrip([this](int64_t p, int64_t line, int64_t column, int64_t run) {
          FinishRun(p, line, column, run);
        });
      }
    }
  }

 private:
  using Format = typename I::Format;
  using Word = typename I::Word;
  using Count = typename I::Count;
  using Set = typename words::BorderTotals<codes == Codes::kTernary ? 2 : 1>::Set;
  static constexpr int kPlanes = codes == Codes::kBinary ? 1 : 2;
  static constexpr int kSums = codes == Codes::kTernary ? 2 : 1;
  static constexpr int64_t kPass = I::kLanes * I::kWords;
  static constexpr int64_t kStep = kPlanes * kStrip;  // of codes, a lane word
  static constexpr int64_t kChunk = 16;               // positions whose sums wait for the epilogue
  static constexpr int64_t kKnownTaps = 64;
  static_assert(I::kPositions <= words::BorderTotals<kSums>::kTogether);
  static constexpr bool kDrains = I::kMostWords < bits::WordCount(int64_t{1} << 24);

  // Calls run(position, line, column, count) for all outputs, at most kChunk of a line at a time.
  template <typename F>
  void RunStrip(const F& run_piece) {
    const int64_t pitch = b_.plan->pitch;
    int64_t p = b_.position_begin, line = p / pitch, column = p % pitch;
    while (p < b_.position_end) {
      int64_t run = b_.plan->valid - column;
      if (run <= 0) {
        p += pitch - column;
        column = 0;
        ++line;
        continue;
      }
      if (run > b_.position_end - p) run = b_.position_end - p;
      if (run > kChunk) run = kChunk;
      run_piece(p, line, column, run);
      p += run;
      column += run;
    }
  }

  // Bits straight from the counts.
  void CompareRun(int64_t position, int64_t line, int64_t column, int64_t run) {
    const int64_t words = bits::WordCount(s_.out_channels);
    uint32_t* out = b_.call->ybits + OutputAt(b_, position).words + strip_.first / kStrip;
    const uint32_t mask = bits::LowMask(strip_.count);
    for (int64_t i = 0; i < run;) {
      const Set* sets[I::kPositions];
      uint32_t found[I::kPositions] = {};
      const int count = Group(run - i);
      for (int p = 0; p < count; ++p) sets[p] = &borders_.At(line, column + i + p);
      CountGroup(count, position + i, [&](int p, int, int64_t lane, Word word) {
        found[p] |= I::AtMost(word, sets[p]->most + lane) << lane;
      });
      for (int p = 0; p < count; ++p, out += words) *out = found[p] & mask;
      i += count;
    }
  }

  void FinishRun(int64_t position, int64_t line, int64_t column, int64_t run) {
    for (int64_t i = 0; i < run;) {
      const Set* sets[I::kPositions];
      const int count = Group(run - i);
      for (int p = 0; p < count; ++p) sets[p] = &borders_.At(line, column + i + p);
      CountGroup(count, position + i, [&](int p, int sum, int64_t lane, Word word) {
        const int64_t at = sum * kStrip + lane;
        I::StoreSums(word, sets[p]->totals + at, sums_ + (i + p) * kSums * kStrip + at);
      });
      i += count;
    }
    finisher_.Start(sums_, kSums * kStrip, kStrip, position, run);
    finisher_.Finish();
  }

  static int Group(int64_t left) {
    return left >= I::kPositions ? I::kPositions : left >= 2 && I::kPositions > 2 ? 2 : 1;
  }

  template <typename Use>
  BNN_INLINE void CountGroup(int count, int64_t position, const Use& use) {
    if (count == I::kPositions) return CountPositions<I::kPositions>(position, use);
    if (count == 2) return CountPositions<2>(position, use);
    CountPositions<1>(position, use);
  }

  // Calls use(position, sum, first lane, counts) for all Words of kCount positions.
  template <int kCount, typename Use>
  BNN_INLINE void CountPositions(int64_t position, const Use& use) {
    const uint8_t* x = b_.rows.base + position * row_bytes_ + strip_.group * lanes_ * 8;
    for (int sum = 0; sum < kSums; ++sum) {
      for (int64_t pass = 0; pass < kStrip; pass += kPass) {
        CountPass<kCount>(x, codes_ + sum * kStrip + pass,
                          [&](int p, int64_t lane, Word word) { use(p, sum, pass + lane, word); });
      }
    }
  }

  template <int kCount, typename Use>
  BNN_INLINE void CountPass(const uint8_t* x, const uint64_t* code, const Use& use) {
    Count counts[kCount][I::kWords];
    room_ = I::kMostWords;
    drained_ = false;
    // A tap without a partner goes first, and its word without a partner before all others.
    int64_t tap = taps_ % 2;
    if (tap != 0) {
      const int64_t odd = lanes_ % 2;
      const uint8_t* alone = x + Offset(0) + 8 * odd;
      odd != 0 ? Begin<kCount>(alone - 8, code, counts) : Clear<kCount>(counts);
      CountPairs<kCount>({alone, alone + 8, 16, code + odd * kStep, kStep, 2 * kStep}, lanes_ / 2,
                         counts);
      code += lanes_ * kStep;
    } else {
      Clear<kCount>(counts);
    }
    for (; tap < taps_; tap += 2, code += 2 * lanes_ * kStep) {
      CountPairs<kCount>({x + Offset(tap), x + Offset(tap + 1), 8, code, lanes_ * kStep, kStep},
                         lanes_, counts);
    }
    for (int p = 0; p < kCount; ++p) {
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) {
        Word total = I::Total(counts[p][w]);
        if (kDrains && drained_) total = I::Plus(total, I::LoadWord(DrainedAt(p, w)));
        use(p, w * I::kLanes, total);
      }
    }
  }

  // Two lane words of X and their codes; the steps lead to the next two.
  struct Pairs {
    const uint8_t *first, *second;
    int64_t x_step;
    const uint64_t* code;
    int64_t second_code, code_step;
  };

  template <int kCount>
  BNN_INLINE void CountPairs(Pairs at, int64_t pairs, Count (*counts)[I::kWords]) {
    for (; pairs > 0; --pairs) {
      CountPair<kCount>(at, counts);
      at.first += at.x_step;
      at.second += at.x_step;
      at.code += at.code_step;
      if (!kDrains) continue;
      room_ -= 2;
      if (room_ < 2) Drain<kCount>(counts);
    }
  }

  template <int kCount>
  BNN_INLINE void CountPair(const Pairs& at, Count (*counts)[I::kWords]) const {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p) {
      const Word x = I::Broadcast(at.first + p * row_bytes_);
      const Word y = I::Broadcast(at.second + p * row_bytes_);
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) {
        const uint64_t* code = at.code + w * I::kLanes;
        I::template AddTwo<codes>(counts[p][w], x, code, y, code + at.second_code);
      }
    }
  }

  // The counts of one lane word.
  template <int kCount>
  BNN_INLINE void Begin(const uint8_t* x, const uint64_t* code, Count (*counts)[I::kWords]) {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p) {
      const Word value = I::Broadcast(x + p * row_bytes_);
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) {
        counts[p][w] = I::template One<codes>(value, code + w * I::kLanes);
      }
    }
    --room_;
  }

  template <int kCount>
  BNN_INLINE static void Clear(Count (*counts)[I::kWords]) {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p) {
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) counts[p][w] = I::Zero();
    }
  }

  // Moves the counts to memory, so that there is room again.
  template <int kCount>
  BNN_INLINE void Drain(Count (*counts)[I::kWords]) {
    for (int p = 0; p < kCount; ++p) {
#pragma GCC unroll 8
      for (int w = 0; w < I::kWords; ++w) {
        Word total = I::Total(counts[p][w]);
        if (drained_) total = I::Plus(total, I::LoadWord(DrainedAt(p, w)));
        I::StoreWord(DrainedAt(p, w), total);
      }
    }
    Clear<kCount>(counts);
    room_ = I::kMostWords;
    drained_ = true;
  }

  uint64_t* DrainedAt(int p, int w) { return drained_counts_ + (p * I::kWords + w) * I::kLanes; }

  int64_t Offset(int64_t tap) const { return tap < kKnownTaps ? offsets_[tap] : FindOffset(tap); }

  // Bytes from the row of a position to the row that a tap reads.
  int64_t FindOffset(int64_t tap) const {
    return TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w) * row_bytes_;
  }

  const Block& b_;
  const Shape& s_;
  const int64_t lanes_, row_bytes_, taps_;
  int64_t offsets_[kKnownTaps];
  words::BorderTotals<kSums> borders_;
  Strip strip_ = {};
  const uint64_t* codes_ = nullptr;
  Finisher<typename I::Vector, static_cast<int>(kStrip)> finisher_;
  int64_t room_ = 0;      // lane words that the counts have room for
  bool drained_ = false;  // whether drained_counts_ hold earlier counts
  alignas(64) uint64_t drained_counts_[I::kPositions * kPass];
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

#undef BNN_INLINE

#endif  // BNN_KERNELS_PRODUCT_LANES_MULTIPLY_H_
