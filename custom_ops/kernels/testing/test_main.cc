// Prints the instruction sets of the machine and runs every registered test, or those whose
// sentence contains the argument; exit 1 on a failure.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/cpu.h"
#include "kernels/testing/testing.h"

namespace bnn::testing {
namespace {

struct Test {
  const char* sentence;
  void (*run)();
};

constexpr int kMostMessages = 5;

std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

int64_t checks = 0;
int64_t failures = 0;

void PrintInstructionSets() {
  std::printf("instruction sets:");
  for (const cpu::Rung& rung : cpu::kRungs) {
    if (cpu::Has(rung.isa, cpu::Supported())) std::printf(" %s", rung.name);
  }
  std::printf("\n");
}

}  // namespace

Registration::Registration(const char* sentence, void (*run)()) {
  Tests().push_back({sentence, run});
}

void Check(bool holds, const std::string& what) {
  ++checks;
  if (holds) return;
  if (++failures <= kMostMessages) std::printf("    %s\n", what.c_str());
}

uint64_t Random::Bits() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int RunAll(const char* part) {
  PrintInstructionSets();
  int failed = 0, ran = 0;
  for (const Test& test : Tests()) {
    if (std::strstr(test.sentence, part) == nullptr) continue;
    ++ran;
    checks = failures = 0;
    const auto start = std::chrono::steady_clock::now();
    test.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (checks == 0) ++failures;  // a test that checks nothing proves nothing
    if (failures > 0) ++failed;
    std::printf("%s  %s (%lld checks, %.1f s)\n", failures == 0 ? "ok  " : "FAIL", test.sentence,
                static_cast<long long>(checks), seconds.count());
  }
  std::printf("%d of %d tests failed\n", failed, ran);
  return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace bnn::testing

int main(int argc, char** argv) { return bnn::testing::RunAll(argc > 1 ? argv[1] : ""); }
