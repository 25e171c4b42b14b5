// Prints what one core can do at this moment as a JSON object: "bits <instruction set>" and
// "float <instruction set>" in GMAC/s, "bytes" in GB/s read from memory.
#include "benchmarks/limits.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "base/cpu.h"

namespace bnn {
namespace {

constexpr size_t kWords = size_t{1} << 23;  // 64 MiB, beyond the caches of one core

double BytesPerSecond() {
  using Clock = std::chrono::steady_clock;
  const std::vector<uint64_t> words(kWords, 1);
  double best = 0.0;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const auto start = Clock::now();
    uint64_t sum = std::accumulate(words.begin(), words.end(), uint64_t{0});
    __asm__ volatile("" : "+r"(sum));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(kWords * sizeof(uint64_t)) / seconds);
  }
  return best;
}

}  // namespace
}  // namespace bnn

int main() {
  std::string fields;
  for (const bnn::cpu::Rung& rung : bnn::cpu::kRungs) {
    for (const bool bits : {true, false}) {
      const double macs = bnn::MacsPerSecond(rung.isa, bits);
      if (macs == 0.0) continue;
      fields += std::string("\"") + (bits ? "bits " : "float ") + rung.name +
                "\": " + std::to_string(macs * 1e-9) + ", ";
    }
  }
  std::printf("{%s\"bytes\": %f}\n", fields.c_str(), bnn::BytesPerSecond() * 1e-9);
}
