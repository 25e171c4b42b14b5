// Times the product kernels of every instruction set next to the limit of this core.
//
//   kernels [seconds per figure] [part of a name]
//
// Figures are the best of many short runs, on one thread; limits are measured in between, so that
// the fraction stands for itself on a machine whose clock changes.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "benchmarks/limits.h"
#include "benchmarks/problem.h"

namespace bnn::product {
namespace {

constexpr int kRounds = 4;               // in which a limit and a kernel take turns
constexpr double kMostScalarMacs = 2e9;  // the portable loops are not for larger problems

std::vector<Problem> Problems() {
  std::vector<Problem> problems;
  const int64_t maps[][2] = {{56, 64}, {28, 128}, {14, 256}, {7, 512}};
  const auto conv = [&](const std::string& prefix, Element x, Codes codes, Wanted wanted) {
    for (const auto& [size, channels] : maps) {
      Shape s;
      s.x = x;
      s.codes = codes;
      s.channels = s.out_channels = channels;
      s.kernel_h = s.kernel_w = 3;
      s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
      problems.push_back({prefix + " " + std::to_string(size) + "x" + std::to_string(size) + "x" +
                              std::to_string(channels),
                          s, 1, size, size, wanted});
    }
  };
  const int64_t products[][3] = {{1, 4096, 4096},    {8, 4096, 4096},   {64, 4096, 4096},
                                 {784, 256, 2304},   {3136, 64, 576},   {49, 512, 4608},
                                 {1024, 1024, 1024}, {4096, 4096, 4096}};
  const auto gemm = [&](const std::string& prefix, Element x, Codes codes, Wanted wanted) {
    for (const auto& [m, n, k] : products) {
      Shape s;
      s.x = x;
      s.codes = codes;
      s.channels = k;
      s.out_channels = n;
      problems.push_back(
          {prefix + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k), s,
           m, 1, 1, wanted});
    }
  };
  conv("conv bits-bits", Element::kBits, Codes::kBinary, Wanted::kBits);
  conv("conv bits-float+residual", Element::kBits, Codes::kBinary, Wanted::kFloatsAndResidual);
  conv("conv ternary-bits", Element::kBits, Codes::kTernaryEqual, Wanted::kBits);
  conv("conv ternary2-bits", Element::kBits, Codes::kTernary, Wanted::kBits);
  gemm("gemm bits-bits", Element::kBits, Codes::kBinary, Wanted::kBits);
  gemm("gemm bits-float+residual", Element::kBits, Codes::kBinary, Wanted::kFloatsAndResidual);
  gemm("gemm ternary-bits", Element::kBits, Codes::kTernaryEqual, Wanted::kBits);
  conv("conv float-float", Element::kFloat32, Codes::kBinary, Wanted::kFloatsAndResidual);
  gemm("gemm float-float", Element::kFloat32, Codes::kBinary, Wanted::kFloatsAndResidual);
  gemm("gemm float-ternary", Element::kFloat32, Codes::kTernaryEqual, Wanted::kFloatsAndResidual);
  return problems;
}

void RunAll(double seconds, const char* part) {
  struct Named {
    const char* name;
    uint32_t needed;
    const Variant* variant;
  };
  const std::vector<Named> variants = {
#define BNN_KERNEL(needed, variant) {#variant, needed, &variant},
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL
  };
  for (const Problem& p : Problems()) {
    for (const Named& v : variants) {
      const std::string name = p.name + " " + v.name;
      if (!cpu::Has(v.needed, cpu::Supported()) || !v.variant->fits(p.shape)) continue;
      if (name.find(part) == std::string::npos) continue;
      if (p.Macs() > kMostScalarMacs && v.needed == cpu::kScalar) continue;
      double limit = 0.0;
      Time t = {1e9, 1e9};
      for (int round = 0; round < kRounds; ++round) {
        limit = std::max(limit, MacsPerSecond(v.needed, p.shape.x == Element::kBits));
        const Time now = Run(p, Product::Only(p.shape, *v.variant), seconds / kRounds);
        t = {std::min(t.median, now.median), std::min(t.best, now.best)};
      }
      std::printf("%-56s %9.4f ms (median %9.4f) %7.0f GMAC/s  %5.1f %% of %5.0f\n", name.c_str(),
                  t.best * 1e3, t.median * 1e3, p.Macs() / t.best * 1e-9,
                  100.0 * p.Macs() / t.best / limit, limit * 1e-9);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace bnn::product

int main(int argc, char** argv) {
  bnn::product::RunAll(argc > 1 ? std::atof(argv[1]) : 0.2, argc > 2 ? argv[2] : "");
}
