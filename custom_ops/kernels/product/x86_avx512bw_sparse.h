// AVX-512: ternary codes times real-valued maps, by adding what the codes select.
//
// Lanes are output positions. A filter becomes two lists of places in the map, those of its +1 and
// those of its -1, and every place costs one addition for sixteen positions: nothing is multiplied,
// a code of 0 costs nothing, and neither channels nor filters are rounded up to a register. The
// lists are made anew for every unit of work; in memory filters stay bits.
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
constexpr int kMostVectors = 6;       // of positions that share a look at the list

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
      : b_(b), s_(*b.shape), lists_(reinterpret_cast<int32_t*>(b.scratch)) {
    const auto* x = reinterpret_cast<const int32_t*>(b.rows.base);
    const int64_t count = b.rows.count * s_.channels;
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff),
                  infinity = _mm512_set1_epi32(0x7f800000);
    __m512i largest = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i += kLanes) {
      const auto lanes = static_cast<__mmask16>(
          _bzhi_u32(0xffff, static_cast<uint32_t>(std::min(kLanes, count - i))));
      const __m512i value = _mm512_maskz_loadu_epi32(lanes, x + i);
      largest = _mm512_max_epi32(largest, _mm512_and_si512(value, magnitude));
    }
    all_finite_ = _mm512_cmpge_epi32_mask(largest, infinity) == 0;
  }

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
  // Tiles of positions of nearly equal size.
  void RunPositions() {
    const float* x = reinterpret_cast<const float*>(b_.rows.base);
    const int64_t vectors = (b_.position_end - b_.position_begin + kLanes - 1) / kLanes;
    const int64_t tiles = (vectors + kMostVectors - 1) / kMostVectors;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = b_.position_begin + vectors * tile / tiles * kLanes;
      const int64_t end = b_.position_begin + vectors * (tile + 1) / tiles * kLanes;
      RunTile(x + begin, static_cast<int>((end - begin) / kLanes));
      finisher_.Start(sums_[0], kStrip, kMostVectors * kLanes * kStrip, begin,
                      std::min(end, b_.position_end) - begin);
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
      case 4:
        return SumTile<4>(x);
      case 5:
        return SumTile<5>(x);
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

  int32_t* List(int64_t o, int plane) { return lists_ + (2 * o + plane) * ListInts(s_); }

  void MakeLists(int64_t o) {
    const auto* codes =
        reinterpret_cast<const uint16_t*>(b_.packed) + (strip_.first + o) * 2 * FilterWords(s_);
    for (int plane = 0; plane < 2; ++plane) {
      int32_t* list = List(o, plane);
      for (int64_t i = 0; i < FilterWords(s_); ++i, ++codes) {
        const __m512i places = _mm512_loadu_si512(places_ + i * kLanes);
        _mm512_storeu_si512(list, _mm512_maskz_compress_epi32(*codes, places));
        list += __builtin_popcount(*codes);
      }
      counts_[o][plane] = list - List(o, plane);
    }
  }

  template <int kVectors>
  void SumTile(const float* x) {
    const bool two_sums = s_.codes == Codes::kTernary;
    __m512 spread[kVectors];
    for (int v = 0; v < kVectors; ++v) spread[v] = _mm512_setzero_ps();
    if (!all_finite_) SpreadInfinity<kVectors>(x, spread);
    for (int64_t o = 0; o < strip_.count; ++o) {
      __m512 sums[2][kVectors];
      for (int plane = 0; plane < 2; ++plane) {
        AddPlaces<kVectors>(x, List(o, plane), counts_[o][plane], sums[plane]);
      }
      for (int v = 0; v < kVectors; ++v) {
        float *first = turned_[0][v][o], *second = turned_[1][v][o];
        sums[0][v] = _mm512_add_ps(sums[0][v], spread[v]);
        if (two_sums) {
          _mm512_store_ps(first, sums[0][v]);
          _mm512_store_ps(second, sums[1][v]);
        } else {
          _mm512_store_ps(first, _mm512_sub_ps(sums[0][v], sums[1][v]));
        }
      }
    }
    for (int sum = 0; sum <= (two_sums ? 1 : 0); ++sum) TurnSums(sum, kVectors);
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

  // By definition 0 times infinity joins one of the sums wherever a filter meets infinity.
  template <int kVectors>
  void SpreadInfinity(const float* x, __m512* spread) const {
    for (int64_t k = 0; k < Depth(s_); ++k) {
      for (int v = 0; v < kVectors; ++v) {
        const __m512 value = _mm512_loadu_ps(x + places_[k] + v * kLanes);
        spread[v] = _mm512_fmadd_ps(value, _mm512_setzero_ps(), spread[v]);
      }
    }
  }

  // From [channel][position] to [position][channel].
  void TurnSums(int sum, int vectors) {
    for (int v = 0; v < vectors; ++v) {
      for (int64_t o = 0; o < strip_.count; o += kLanes) {
        __m512 rows[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) rows[i] = _mm512_load_ps(turned_[sum][v][o + i]);
        V16::Transpose(rows);
        for (int64_t i = 0; i < kLanes; ++i) {
          _mm512_store_ps(sums_[sum] + (v * kLanes + i) * kStrip + o, rows[i]);
        }
      }
    }
  }

  const Block& b_;
  const Shape& s_;
  int32_t* const lists_;
  bool all_finite_ = true;
  Strip strip_ = {};
  Finisher<V16, static_cast<int>(kStrip), float> finisher_;
  int64_t counts_[kStrip][2];
  alignas(64) int32_t places_[kMostDepth];
  alignas(64) float turned_[2][kMostVectors][kStrip][kLanes] = {};
  alignas(64) float sums_[2][kMostVectors * kLanes * kStrip] = {};
};

}  // namespace sparse
}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_X86_AVX512BW_SPARSE_H_
