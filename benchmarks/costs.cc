// Times every variant over a grid of small products, as lines of JSON: what costs.py fits the cost
// model of custom_ops/kernels/product/cost.h to.
//
//   costs [seconds per figure] [part of a variant's name]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/cpu.h"
#include "benchmarks/problem.h"

namespace bnn::product {
namespace {

constexpr int64_t kSides[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 14};  // positions are squares
constexpr int64_t kSizes[][3] = {{1, 32, 64},    {1, 256, 64},  {1, 1024, 128}, {1, 4096, 64},
                                 {1, 1024, 512}, {3, 32, 32},   {3, 64, 64},    {3, 128, 128},
                                 {3, 256, 256},  {3, 512, 128}, {5, 64, 64}};

void Time(const char* name, const Variant& variant, const Shape& shape, int64_t side,
          double seconds) {
  const bool matrix = shape.kernel_h == 1;
  const Problem problem = {
      name, shape, matrix ? side * side : 1, matrix ? 1 : side, matrix ? 1 : side, Wanted::kBits};
  const double best = Run(problem, Product::Only(shape, variant), seconds).best;
  std::printf(
      "{\"variant\": \"%s\", \"taps\": %lld, \"channels\": %lld, \"outputs\": %lld, "
      "\"positions\": %lld, \"seconds\": %.9f}\n",
      name, static_cast<long long>(Taps(shape)), static_cast<long long>(shape.channels),
      static_cast<long long>(shape.out_channels), static_cast<long long>(side * side), best);
}

void TimeAll(double seconds, const std::string& part) {
  const auto time = [&](const char* name, uint32_t needed, const Variant& variant) {
    if (!cpu::Has(needed, cpu::Supported())) return;
    if (std::string(name).find(part) == std::string::npos) return;
    for (const auto& [kernel, channels, outputs] : kSizes) {
      Shape shape;
      shape.x = std::string(name).rfind("bits_", 0) == 0 ? Element::kBits : Element::kFloat32;
      shape.channels = channels;
      shape.out_channels = outputs;
      shape.kernel_h = shape.kernel_w = kernel;
      shape.pad_top = shape.pad_left = shape.pad_bottom = shape.pad_right = kernel / 2;
      if (!variant.fits(shape)) continue;
      for (const int64_t side : kSides) Time(name, variant, shape, side, seconds);
    }
  };
#define BNN_KERNEL(needed, variant) time(#variant, needed, variant);
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL
}

}  // namespace
}  // namespace bnn::product

int main(int argc, char** argv) {
  bnn::product::TimeAll(argc > 1 ? std::atof(argv[1]) : 0.005, argc > 2 ? argv[2] : "");
}
