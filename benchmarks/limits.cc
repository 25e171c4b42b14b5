// Prints what one core can do at this moment as a JSON object: "bits <instruction set>" and
// "float <instruction set>" in GMAC/s, "bytes memory" and "bytes cache" in GB/s read.
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

constexpr size_t kMemoryWords = size_t{1} << 23;  // 64 MiB, more than a core's share of caches
constexpr size_t kCacheWords = size_t{1} << 17;   // 1 MiB, for the second-level cache

double BytesPerSecond(size_t count) {
  using Clock = std::chrono::steady_clock;
  const std::vector<uint64_t> words(count, 1);
  double best = 0.0;
  for (size_t read = 0; read < 8 * kMemoryWords; read += count) {
    const auto start = Clock::now();
    uint64_t sum = std::accumulate(words.begin(), words.end(), uint64_t{0});
    __asm__ volatile("" : "+r"(sum));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(count * sizeof(uint64_t)) / seconds);
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
  std::printf("{%s\"bytes memory\": %f, \"bytes cache\": %f}\n", fields.c_str(),
              bnn::BytesPerSecond(bnn::kMemoryWords) * 1e-9,
              bnn::BytesPerSecond(bnn::kCacheWords) * 1e-9);
}
