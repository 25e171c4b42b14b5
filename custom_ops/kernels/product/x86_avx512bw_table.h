// AVX-512: real-valued X by table look-up, for many output channels.
//
// Four values of X have sixteen sums with codes, which fill one register. Four bits of a filter
// then select the sum of four products, for sixteen output channels at once: a shift, a permutation
// and an addition for 64 codes. A table serves every output channel, so it pays from about 128 of
// them, and for one row of X as well as for many.
#ifndef BNN_KERNELS_PRODUCT_X86_AVX512BW_TABLE_H_
#define BNN_KERNELS_PRODUCT_X86_AVX512BW_TABLE_H_

#include <immintrin.h>

#include <algorithm>

#include "kernels/product/float_rows.h"
#include "kernels/product/vector_finish.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {
namespace table {

constexpr int64_t kLeastOutputs = 128;
constexpr int64_t kLeastChannels = 16;  // fewer leave most of the tables of a word empty
constexpr int64_t kMostDepth = 16384;   // bounds the tables
constexpr int64_t kTableValues = 4;     // of X
constexpr int64_t kTableFloats = 16;
constexpr int64_t kWordTables = bits::kWordBits / kTableValues;
constexpr int kPositions = 4;  // whose tables are kept, and which share the shifts

inline bool Pays(const Shape& s) {
  return GroupOutputs(s) >= kLeastOutputs && GroupChannels(s) >= kLeastChannels &&
         Taps(s) * GroupWords(s) * bits::kWordBits <= kMostDepth;
}

inline int64_t Words(const Shape& s) { return Taps(s) * GroupWords(s); }

inline int64_t TableFloats(const Shape& s) { return Words(s) * kWordTables * kTableFloats; }

inline size_t UnitBytes(const Shape& s) {
  return static_cast<size_t>(kPositions * TableFloats(s)) * sizeof(float);
}

// ---- weights: [strip][tap][word][plane][kStrip] words ----

inline size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s) * Words(s) * Planes(s) * kStrip) * sizeof(uint32_t);
}

inline void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes(s));
  auto* out = reinterpret_cast<uint32_t*>(packed);
  for (int64_t index = 0; index < Strips(s); ++index) {
    const Strip strip = StripAt(s, index);
    for (int64_t tap = 0; tap < Taps(s); ++tap) {
      for (int64_t i = 0; i < GroupWords(s); ++i) {
        for (int64_t plane = 0; plane < Planes(s); ++plane, out += kStrip) {
          for (int64_t lane = 0; lane < strip.count; ++lane) {
            out[lane] =
                MaskedWord(TapWords(s, words, plane, strip.first + lane, tap), i, GroupChannels(s));
          }
        }
      }
    }
  }
}

// ---- tables ----

// Entry e of the table of x[0 ... 3] is the sum of x[j] times code: where bit j of e is set +1,
// else `clear`, which is -1 for binary and 0 for ternary codes. Values past `count` are 0.
class TableMaker {
 public:
  explicit TableMaker(float clear) {
    constexpr __mmask16 kBitOfEntry[kTableValues] = {0xaaaa, 0xcccc, 0xf0f0, 0xff00};
    for (int64_t j = 0; j < kTableValues; ++j) {
      codes_[j] = _mm512_mask_blend_ps(kBitOfEntry[j], _mm512_set1_ps(clear), _mm512_set1_ps(1.0f));
    }
  }

  void Make(const float* x, int64_t count, float* table) const {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t j = 0; j < kTableValues; ++j) {
      const float value = j < count ? x[j] : 0.0f;
      sum = _mm512_fmadd_ps(_mm512_set1_ps(value), codes_[j], sum);
    }
    _mm512_store_ps(table, sum);
  }

 private:
  __m512 codes_[kTableValues];
};

inline void MakeTables(const Block& b, const TableMaker& maker, int64_t group, int64_t position,
                       float* table) {
  const Shape& s = *b.shape;
  for (int64_t tap = 0; tap < Taps(s); ++tap) {
    const int64_t row = position + TapRow(*b.plan, tap / s.kernel_w, tap % s.kernel_w);
    const float* x = float_rows::Row(b, row, group);
    for (int64_t i = 0; i < GroupWords(s) * kWordTables; ++i, table += kTableFloats) {
      maker.Make(x + i * kTableValues, GroupChannels(s) - i * kTableValues, table);
    }
  }
}

// ---- product ----

class TableMultiplier {
 public:
  explicit TableMultiplier(const Block& b)
      : b_(b),
        s_(*b.shape),
        planes_(Planes(s_)),
        table_floats_(TableFloats(s_)),
        tables_(reinterpret_cast<float*>(b.scratch)),
        maker_(s_.codes == Codes::kBinary ? -1.0f : 0.0f) {}

  void Run() {
    for (int64_t p = b_.position_begin; p < b_.position_end; p += kPositions) {
      const int64_t count = std::min<int64_t>(kPositions, b_.position_end - p);
      int64_t group = -1;
      for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
        strip_ = StripAt(s_, index);
        if (strip_.group != group) {
          group = strip_.group;
          for (int64_t i = 0; i < count; ++i) {
            MakeTables(b_, maker_, group, p + i, tables_ + i * table_floats_);
          }
        }
        MultiplyStrip(index, p, count);
      }
    }
  }

 private:
  void MultiplyStrip(int64_t index, int64_t position, int64_t count) {
    const auto* words =
        reinterpret_cast<const uint32_t*>(b_.packed) + index * Words(s_) * planes_ * kStrip;
    for (int64_t plane = 0; plane < planes_; ++plane) {
      const uint32_t* plane_words = words + plane * kStrip;
      if (count == kPositions) {
        LookUp<kPositions>(plane_words, 0, plane);
      } else {
        for (int64_t i = 0; i < count; ++i) LookUp<1>(plane_words, i, plane);
      }
    }
    if (s_.codes == Codes::kTernaryEqual) {
      for (int64_t i = 0; i < count * kStrip; ++i) sums_[0][i] -= sums_[1][i];
    }
    const StripEpilogue epilogue = LoadStripEpilogue<V16>(b_, strip_);
    finisher_.Bind(b_, strip_, 0, &epilogue);
    finisher_.Start(sums_[0], kStrip, kPositions * kStrip, position, count);
    finisher_.Finish();
  }

  // Sums of one plane for kCount positions from `first` on. Even and odd tables are summed apart,
  // so that additions need not wait for each other.
  template <int kCount>
  void LookUp(const uint32_t* words, int64_t first, int64_t plane) {
    __m512 sums[kCount][2][2];
    for (auto& position : sums) {
      for (auto& half : position) half[0] = half[1] = _mm512_setzero_ps();
    }
    const float* table = tables_ + first * table_floats_;
    for (int64_t i = 0; i < Words(s_); ++i, words += planes_ * kStrip) {
      __m512i low = _mm512_loadu_si512(words), high = _mm512_loadu_si512(words + kTableFloats);
#pragma GCC unroll 8
      for (int64_t j = 0; j < kWordTables; ++j, table += kTableFloats) {
#pragma GCC unroll 4
        for (int p = 0; p < kCount; ++p) {
          const __m512 sixteen = _mm512_load_ps(table + p * table_floats_);
          __m512* low_sum = &sums[p][0][j % 2];
          __m512* high_sum = &sums[p][1][j % 2];
          *low_sum = _mm512_add_ps(*low_sum, _mm512_permutexvar_ps(low, sixteen));
          *high_sum = _mm512_add_ps(*high_sum, _mm512_permutexvar_ps(high, sixteen));
        }
        low = _mm512_srli_epi32(low, kTableValues);
        high = _mm512_srli_epi32(high, kTableValues);
      }
    }
    for (int p = 0; p < kCount; ++p) {
      float* out = sums_[plane] + (first + p) * kStrip;
      _mm512_store_ps(out, _mm512_add_ps(sums[p][0][0], sums[p][0][1]));
      _mm512_store_ps(out + kTableFloats, _mm512_add_ps(sums[p][1][0], sums[p][1][1]));
    }
  }

  const Block& b_;
  const Shape& s_;
  const int64_t planes_, table_floats_;
  float* tables_;
  const TableMaker maker_;
  Strip strip_ = {};
  Finisher<V16, static_cast<int>(kStrip), float> finisher_;
  alignas(64) float sums_[2][kPositions * kStrip];
};

inline void Multiply(const Block& b) { TableMultiplier(b).Run(); }

}  // namespace table
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AVX512BW_TABLE_H_
