// AVX-512: ternary codes times real-valued maps, by adding what the codes select.
//
// Lanes are output positions. The values that a filter meets fall into three sets, those under +1,
// under -1 and under 0, whose sums together are the sum of the whole window, which all filters
// share. So the largest set is never summed up: its sum is what the others leave of the window, and
// a position costs at most two additions for three codes. A set is a list of places in the map,
// made anew from bits for every unit of work. Neither channels nor filters are rounded up to a
// register, and nothing is multiplied.
//
// Rows: float [channel][row]. Packed: uint16 [output channel][plane][(tap, channel) / 16].
#ifndef BNN_KERNELS_PRODUCT_X86_AVX512BW_SPARSE_H_
#define BNN_KERNELS_PRODUCT_X86_AVX512BW_SPARSE_H_

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "kernels/product/vector_finish.h"
#include "kernels/product/x86_avx512_vector.h"

namespace bnn::product {
namespace {
namespace sparse {

constexpr int64_t kLanes = V16::kLanes;
constexpr int64_t kMostDepth = 1024;  // bounds the lists
constexpr int kMostVectors = 4;       // of positions that share a look at the list
constexpr int64_t kTile = kMostVectors * kLanes;

inline int64_t Depth(const Shape& s) { return Taps(s) * GroupChannels(s); }

inline bool Pays(const Shape& s) {
  return s.codes != Codes::kBinary && Taps(s) > 1 && Depth(s) <= kMostDepth;
}

inline int64_t FilterWords(const Shape& s) { return (Depth(s) + kLanes - 1) / kLanes; }

// One list: every place and what a compressing store writes past the last one.
inline int64_t ListInts(const Shape& s) { return (FilterWords(s) + 1) * kLanes; }

inline size_t UnitBytes(const Shape& s) {
  return static_cast<size_t>(2 * kStrip * ListInts(s)) * sizeof(int32_t);
}

// Multiply-accumulates of one position in words times strips, as the cost model counts.
inline double CostWords(const Shape& s) {
  return static_cast<double>(s.out_channels * Depth(s)) / (bits::kWordBits * kStrip);
}

// ---- weights ----

inline size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(s.out_channels * 2 * FilterWords(s)) * sizeof(uint16_t);
}

inline void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes(s));
  auto* out = reinterpret_cast<uint16_t*>(packed);
  const int64_t length = GroupChannels(s);
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t plane = 0; plane < 2; ++plane, out += FilterWords(s)) {
      for (int64_t k = 0; k < Depth(s); ++k) {
        const uint32_t* tap = TapWords(s, words, plane, o, k / length);
        const uint32_t code = tap[k % length / 32] >> (k % length % 32) & 1u;
        out[k / kLanes] = static_cast<uint16_t>(out[k / kLanes] | code << (k % kLanes));
      }
    }
  }
}

// ---- rows ----

// to[i] = from[2 * i], of which the last is the last that is read.
inline void CopyEven(const float* from, int64_t count, float* to) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (int64_t i = 0; i < count; i += kLanes, from += 2 * kLanes) {
    const int some = static_cast<int>(std::min(kLanes, count - i));
    const int read = 2 * some - 1;
    const __m512 low = V16::LoadPart(from, std::min(read, V16::kLanes));
    const __m512 high = V16::LoadPart(from + kLanes, std::max(read - V16::kLanes, 0));
    V16::StorePart(to + i, some, _mm512_permutex2var_ps(low, even, high));
  }
}

inline void Expand(const Shape& s, Rows rows, int64_t first, const Pixels& pixels) {
  float* row = reinterpret_cast<float*>(rows.base) + first;
  const int64_t step = pixels.pixel_step;
  for (int64_t c = 0; c < s.channels; ++c, row += rows.count) {
    const int64_t channel = c * pixels.channel_step;
    if (s.x == Element::kFloat16) {
      const auto* x = static_cast<const uint16_t*>(pixels.x) + channel;
      for (int64_t p = 0; p < pixels.count; ++p) row[p] = HalfToFloat(x[p * step]);
      continue;
    }
    const auto* x = static_cast<const float*>(pixels.x) + channel;
    if (step == 1) {
      std::memcpy(row, x, static_cast<size_t>(pixels.count) * sizeof(float));
    } else if (step == 2) {
      CopyEven(x, pixels.count, row);
    } else {
      for (int64_t p = 0; p < pixels.count; ++p) row[p] = x[p * step];
    }
  }
}

inline void Fill(const Shape& s, Rows rows, int64_t first, int64_t count) {
  float* row = reinterpret_cast<float*>(rows.base) + first;
  for (int64_t c = 0; c < s.channels; ++c, row += rows.count) {
    std::fill(row, row + count, static_cast<float>(s.pad_value));
  }
}

// ---- product ----

class Multiplier {
 public:
  explicit Multiplier(const Block& b)
      : b_(b), s_(*b.shape), lists_(reinterpret_cast<int32_t*>(b.scratch)) {}

  void Run() {
    for (int64_t index = b_.strip_begin; index < b_.strip_end; ++index) {
      strip_ = StripAt(s_, index);
      MakePlaces();
      for (int64_t o = 0; o < strip_.count; ++o) MakeLists(o);
      const StripEpilogue epilogue = LoadStripEpilogue<V16>(b_, strip_);
      finisher_.Bind(b_, strip_, 0, &epilogue);
      RunPositions();
    }
  }

 private:
  enum Set : uint8_t { kPlus, kMinus, kZero };

  // Tiles of positions of nearly equal size.
  void RunPositions() {
    const float* x = reinterpret_cast<const float*>(b_.rows.base);
    const int64_t vectors = (b_.position_end - b_.position_begin + kLanes - 1) / kLanes;
    const int64_t tiles = (vectors + kMostVectors - 1) / kMostVectors;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = b_.position_begin + vectors * tile / tiles * kLanes;
      const int64_t end = b_.position_begin + vectors * (tile + 1) / tiles * kLanes;
      RunTile(x + begin, static_cast<int>((end - begin) / kLanes));
      const int64_t count = std::min(end, b_.position_end) - begin;
      if (finisher_.TakesPlanes()) {
        finisher_.StartPlanes(planes_[0][0], kTile, kStrip * kTile, begin, count);
      } else {
        TurnSums(count);
        finisher_.Start(turned_[0], kStrip, kTile * kStrip, begin, count);
      }
      finisher_.Finish();
    }
  }

  void RunTile(const float* x, int vectors) {
    switch (vectors) {
      case 1:
        return SumTile<1>(x);
      case 2:
        return SumTile<2>(x);
      case 3:
        return SumTile<3>(x);
      default:
        return SumTile<kMostVectors>(x);
    }
  }

  // Where each (tap, channel) of the strip's group lies, seen from position 0.
  void MakePlaces() {
    const int64_t length = GroupChannels(s_);
    int32_t* place = places_;
    for (int64_t tap = 0; tap < Taps(s_); ++tap) {
      const int64_t row = TapRow(*b_.plan, tap / s_.kernel_w, tap % s_.kernel_w);
      for (int64_t c = 0; c < length; ++c) {
        *place++ = static_cast<int32_t>((strip_.group * length + c) * b_.rows.count + row);
      }
    }
  }

  int32_t* List(int64_t o, int index) { return lists_ + (2 * o + index) * ListInts(s_); }

  // Lists of the two smaller sets of filter o, in the order of Set.
  void MakeLists(int64_t o) {
    const auto* codes =
        reinterpret_cast<const uint16_t*>(b_.packed) + (strip_.first + o) * 2 * FilterWords(s_);
    int64_t counts[3] = {0, 0, Depth(s_)};
    for (int64_t i = 0; i < 2 * FilterWords(s_); ++i) {
      const int64_t ones = __builtin_popcount(codes[i]);
      counts[i / FilterWords(s_)] += ones;
      counts[kZero] -= ones;
    }
    rest_[o] = counts[kZero] >= std::max(counts[kPlus], counts[kMinus]) ? kZero
               : counts[kPlus] >= counts[kMinus]                        ? kPlus
                                                                        : kMinus;
    int index = 0;
    for (const Set set : {kPlus, kMinus, kZero}) {
      if (set != rest_[o]) counts_[o][index] = MakeList(codes, set, List(o, index)), ++index;
    }
  }

  int64_t MakeList(const uint16_t* codes, Set set, int32_t* list) const {
    const int32_t* const begin = list;
    for (int64_t i = 0; i < FilterWords(s_); ++i) {
      const uint32_t plus = codes[i], minus = codes[FilterWords(s_) + i];
      const uint32_t word = set == kPlus ? plus : set == kMinus ? minus : ~(plus | minus);
      const int64_t left = Depth(s_) - i * kLanes;
      const uint32_t lanes = word & (left >= kLanes ? 0xffffu : (1u << left) - 1u);
      const __m512i places = _mm512_loadu_si512(places_ + i * kLanes);
      _mm512_storeu_si512(list, _mm512_maskz_compress_epi32(static_cast<__mmask16>(lanes), places));
      list += __builtin_popcount(lanes);
    }
    return list - begin;
  }

  template <int kVectors>
  void SumTile(const float* x) {
    const bool two_sums = s_.codes == Codes::kTernary;
    const __m512 zero = _mm512_setzero_ps();
    __m512 window[kVectors];
    AddPlaces<kVectors>(x, places_, Depth(s_), window);
    for (int64_t o = 0; o < strip_.count; ++o) {
      __m512 a[kVectors], b[kVectors];
      AddPlaces<kVectors>(x, List(o, 0), counts_[o][0], a);
      AddPlaces<kVectors>(x, List(o, 1), counts_[o][1], b);
      const Set rest = rest_[o];
      for (int v = 0; v < kVectors; ++v) {
        const __m512 others = _mm512_sub_ps(_mm512_sub_ps(window[v], a[v]), b[v]);
        __m512 plus = rest == kPlus ? others : a[v];
        const __m512 minus = rest == kMinus ? others : rest == kPlus ? a[v] : b[v];
        // By definition 0 times infinity joins one of the sums wherever a filter meets infinity.
        plus = _mm512_fmadd_ps(window[v], zero, plus);
        _mm512_store_ps(planes_[0][o] + v * kLanes, two_sums ? plus : _mm512_sub_ps(plus, minus));
        if (two_sums) _mm512_store_ps(planes_[1][o] + v * kLanes, minus);
      }
    }
  }

  template <int kVectors>
  static void AddPlaces(const float* x, const int32_t* list, int64_t count, __m512* out) {
    __m512 sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = _mm512_setzero_ps();
    for (int64_t i = 0; i < count; ++i) {
      const float* place = x + list[i];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = _mm512_add_ps(sums[v], _mm512_loadu_ps(place + v * kLanes));
      }
    }
    for (int v = 0; v < kVectors; ++v) out[v] = sums[v];
  }

  // From [channel][position] to [position][channel].
  void TurnSums(int64_t count) {
    for (int sum = 0; sum <= (s_.codes == Codes::kTernary ? 1 : 0); ++sum) {
      for (int64_t p = 0; p < count; p += kLanes) {
        for (int64_t o = 0; o < strip_.count; o += kLanes) {
          __m512 rows[kLanes];
          for (int64_t i = 0; i < kLanes; ++i) rows[i] = _mm512_load_ps(planes_[sum][o + i] + p);
          V16::Transpose(rows);
          for (int64_t i = 0; i < kLanes; ++i) {
            _mm512_store_ps(turned_[sum] + (p + i) * kStrip + o, rows[i]);
          }
        }
      }
    }
  }

  const Block& b_;
  const Shape& s_;
  int32_t* const lists_;
  Strip strip_ = {};
  Finisher<V16, static_cast<int>(kStrip), float> finisher_;
  Set rest_[kStrip];           // the set that is not summed up
  int64_t counts_[kStrip][2];  // of the other two
  alignas(64) int32_t places_[kMostDepth];
  alignas(64) float planes_[2][kStrip][kTile] = {};
  alignas(64) float turned_[2][kTile * kStrip] = {};
};

}  // namespace sparse
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AVX512BW_SPARSE_H_
