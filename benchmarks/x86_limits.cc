// Instruction loops of the kernels without their memory, bookkeeping and epilogue.
#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "base/cpu.h"
#include "benchmarks/limits.h"

namespace bnn {
namespace {

#define BNN_TARGET(features) __attribute__((target(features)))
#define BNN_KEEP(v) __asm__ volatile("" : "+v"(v))

constexpr int kRounds = 4000;

double ScalarMacs() {
  uint64_t x = 0x123456789abcdef, sum[8] = {};  // chains of five cycles
  for (int i = 0; i < kRounds; ++i) {
    for (uint64_t& s : sum) {
      uint64_t v = x ^ s;
      __asm__ volatile("popcnt %0, %0" : "+r"(v));
      s += v;
    }
  }
  for (uint64_t& s : sum) __asm__ volatile("" : "+r"(s));
  return kRounds * 8.0 * 64;
}

// Per 128 codes in nibbles: xor, shuffle, add.
BNN_TARGET("avx2") double Avx2Macs() {
  __m256i table = _mm256_set1_epi8(3), x = _mm256_set1_epi8(5), sum[8];
  for (__m256i& s : sum) s = _mm256_setzero_si256();
  for (int i = 0; i < kRounds; ++i) {
    for (__m256i& s : sum) {
      __m256i v = _mm256_xor_si256(x, table);
      BNN_KEEP(v);
      s = _mm256_add_epi8(s, _mm256_shuffle_epi8(table, v));
      BNN_KEEP(s);
    }
  }
  return kRounds * 8.0 * 128;
}

BNN_TARGET("avx512bw") double Avx512BwMacs() {
  __m512i table = _mm512_set1_epi8(3), x = _mm512_set1_epi8(5), sum[8];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  for (int i = 0; i < kRounds; ++i) {
    for (__m512i& s : sum) {
      __m512i v = _mm512_xor_si512(x, table);
      BNN_KEEP(v);
      s = _mm512_add_epi8(s, _mm512_shuffle_epi8(table, v));
      BNN_KEEP(s);
    }
  }
  return kRounds * 8.0 * 256;
}

BNN_TARGET("avx512vpopcntdq") double VpopcntMacs() {
  __m512i x = _mm512_set1_epi64(0x123456789abcdef), y = x, sum[8];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  for (int i = 0; i < kRounds; ++i) {
    for (__m512i& s : sum) {
      __m512i v = _mm512_xor_si512(x, y);
      BNN_KEEP(v);
      s = _mm512_add_epi64(s, _mm512_popcnt_epi64(v));
      BNN_KEEP(s);
    }
  }
  return kRounds * 8.0 * 512;
}

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Four accumulators; tiles come from the first-level cache, as in the kernel.
BNN_TARGET("amx-tile,amx-int8") double AmxMacs() {
  alignas(64) static int8_t memory[16 * 1024];
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
  for (int i = 0; i < kRounds; ++i) {
    const int8_t* a = memory + (i % 4) * 1024;
    _tile_loadd(4, a + 8192, 64);
    _tile_loadd(5, a, 64);
    _tile_dpbssd(0, 5, 4);
    _tile_loadd(6, a + 1024, 64);
    _tile_dpbssd(1, 6, 4);
    _tile_loadd(7, a + 2048, 64);
    _tile_dpbssd(2, 7, 4);
    _tile_loadd(5, a + 3072, 64);
    _tile_dpbssd(3, 5, 4);
  }
  _tile_release();
  return kRounds * 4.0 * 16 * 16 * 64;
}

BNN_TARGET("avx2,fma") double FmaYmmMacs() {
  __m256 x = _mm256_set1_ps(1.0f), sum[12];
  for (__m256& s : sum) s = x;
  for (int i = 0; i < kRounds; ++i) {
    for (__m256& s : sum) {
      s = _mm256_fmadd_ps(x, x, s);
      BNN_KEEP(s);
    }
  }
  return kRounds * 12.0 * 8;
}

BNN_TARGET("avx512f") double FmaZmmMacs() {
  __m512 x = _mm512_set1_ps(1.0f), sum[12];
  for (__m512& s : sum) s = x;
  for (int i = 0; i < kRounds; ++i) {
    for (__m512& s : sum) {
      s = _mm512_fmadd_ps(x, x, s);
      BNN_KEEP(s);
    }
  }
  return kRounds * 12.0 * 16;
}

double Rate(double (*macs)()) {
  using Clock = std::chrono::steady_clock;
  double best = 0.0;
  for (int repeat = 0; repeat < 60; ++repeat) {
    const auto start = Clock::now();
    const double done = macs();
    best = std::max(best, done / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

double MacsPerSecond(uint32_t isa, bool bits) {
  if (!cpu::Has(isa, cpu::Supported())) return 0.0;
  if (!bits) return Rate(isa == cpu::kScalar || isa == cpu::kAvx2 ? FmaYmmMacs : FmaZmmMacs);
  if (isa == cpu::kAmx) return Rate(AmxMacs);
  if (isa == cpu::kAvx512Vpopcnt) return Rate(VpopcntMacs);
  if (isa == cpu::kAvx512Bw) return Rate(Avx512BwMacs);
  if (isa == cpu::kAvx2) return Rate(Avx2Macs);
  return Rate(ScalarMacs);
}

}  // namespace bnn
