// Times packing, unpacking, signs, ternary values and pooling of bits next to what reading, and
// copying, as many floats takes (MaxPoolBits touches a twenty-fifth of those bytes).
//
//   elementwise [rounds]
//
// Bounds and kernels take turns; figures are the best of all rounds, on one thread.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/bits.h"
#include "kernels/max_pool_bits/max_pool_bits.h"
#include "kernels/pack_bits/pack_bits.h"
#include "kernels/sign/sign.h"
#include "kernels/ternary/ternary.h"
#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {
namespace {

constexpr int64_t kFewest = int64_t{1} << 22;  // values a sample, so that the clock can tell

double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Timed {
  std::string name;
  std::function<void()> call;
  double best = 1e9;
};

void Sample(int64_t values, Timed* timed) {
  const int64_t calls = std::max<int64_t>(1, kFewest / values);
  const double start = Seconds();
  for (int64_t i = 0; i < calls; ++i) timed->call();
  timed->best = std::min(timed->best, (Seconds() - start) / static_cast<double>(calls));
}

// Reads every value with the vectors that the compiler picks, which it may not leave out.
__attribute__((target("avx2"))) void Read(const std::vector<float>& x) {
  typedef uint64_t Lanes __attribute__((vector_size(32)));
  Lanes sums[4] = {};
  const auto* p = reinterpret_cast<const uint8_t*>(x.data());
  for (size_t i = 0; i + 128 <= x.size() * 4; i += 128) {
    for (size_t v = 0; v < 4; ++v) {
      Lanes lanes;
      std::memcpy(&lanes, p + i + 32 * v, 32);
      sums[v] ^= lanes;
    }
  }
  for (Lanes& s : sums) __asm__ volatile("" : "+m"(s));
}

// `channels` of a map of `side` x `side` positions; a side of 1 is a row.
void RunMap(const char* where, int64_t channels, int64_t side, int rounds) {
  const int64_t positions = side * side, values = channels * positions;
  const int64_t words = bits::WordCount(channels);
  std::vector<float> x(static_cast<size_t>(values)), y(x.size());
  for (float& value : x) value = static_cast<float>(std::rand() % 255 - 127);
  std::vector<uint32_t> packed(static_cast<size_t>(words * positions)), pooled(packed.size());
  const std::vector<uint32_t> invert(static_cast<size_t>(words));
  const float one = 1.0f, zero = 0.0f;
  const PackBitsShape pack = {channels, positions, &one, 0, &zero, 0};
  const UnpackBitsShape unpack = {channels, positions};
  const MaxPoolBitsShape pool = {side, side, words, 2, 2, 2, 2, 0, 0, side / 2};
  std::vector<Timed> timed = {
      {"read", [&] { Read(x); }},
      {"copy", [&] { std::memcpy(y.data(), x.data(), x.size() * sizeof(float)); }},
      {"PackBits", [&] { SelectPackBits().f32(pack, x.data(), packed.data(), 0, positions); }},
      {"UnpackBits",
       [&] { SelectUnpackBits().f32(unpack, packed.data(), y.data(), 0, positions); }},
      {"Sign", [&] { SelectSign().f32(x.data(), y.data(), values); }},
      {"Ternary", [&] { SelectTernary().f32(x.data(), &one, 0, y.data(), values); }},
  };
  if (side > 1) {
    timed.push_back({"MaxPoolBits", [&] {
                       SelectMaxPoolBits().run(pool, packed.data(), invert.data(), pooled.data(), 0,
                                               side / 2);
                     }});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Timed& each : timed) Sample(values, &each);
  }
  for (const Timed& each : timed) {
    std::printf("%-26s %-12s %7.2f Gvalue/s  %6.1f %% of read  %6.1f %% of copy\n", where,
                each.name.c_str(), static_cast<double>(values) / each.best * 1e-9,
                100.0 * timed[0].best / each.best, 100.0 * timed[1].best / each.best);
  }
}

}  // namespace
}  // namespace bnn

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  bnn::RunMap("row, cache", 4096, 1, rounds);
  bnn::RunMap("row, memory", int64_t{1} << 24, 1, rounds);
  bnn::RunMap("map 8x8x64, cache", 64, 8, rounds);
  bnn::RunMap("map 56x56x64", 64, 56, rounds);
  bnn::RunMap("map 512x512x64, memory", 64, 512, rounds);
}
