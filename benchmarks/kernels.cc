// Times the product kernels of every instruction set next to the limit of this core.
//
//   kernels [seconds per figure] [part of a name]
//
// Figures are the best of many short runs, on one thread; limits are measured in between, so that
// the fraction stands for itself on a machine whose clock changes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "benchmarks/limits.h"
#include "kernels/product/product.h"
#include "kernels/product/variant.h"

namespace bnn::product {
namespace {

// Seconds that this thread has run: what a busy machine takes away does not count.
double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Aligned {
  explicit Aligned(size_t bytes) {
    if (posix_memalign(&data, kAlignment, bytes + 64) != 0) std::abort();
    auto* p = static_cast<uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>(std::rand() >> 7);
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { std::free(data); }
  void* data;
};

constexpr double kMostScalarMacs = 2e9;  // the portable loops are not for larger problems

enum class Wanted { kBits, kFloatsAndResidual };

struct Problem {
  std::string name;
  Shape shape;
  int64_t batch, height, width;
  Wanted wanted;

  double Macs() const {
    const int64_t h = OutputExtent(height, shape.kernel_h, 1, 1, shape.pad_top, shape.pad_bottom);
    const int64_t w = OutputExtent(width, shape.kernel_w, 1, 1, shape.pad_left, shape.pad_right);
    return static_cast<double>(batch * h * w * shape.out_channels * Taps(shape)) *
           static_cast<double>(shape.channels);
  }
  int64_t Outputs() const { return batch * height * width * shape.out_channels; }
};

// Median and best seconds of one call.
struct Time {
  double median, best;
};

template <typename F>
Time Measure(double seconds, const F& call) {
  std::vector<double> times;
  call();
  const double begin = Seconds();
  while (times.size() < 5 || Seconds() - begin < seconds) {
    const double start = Seconds();
    call();
    times.push_back(Seconds() - start);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0]};
}

Time Run(const Problem& p, const Product& product, double seconds) {
  const Plan plan = product.PlanCall(p.batch, p.height, p.width, 1);
  const int64_t words = bits::WordCount(p.shape.channels);
  const int64_t pixels = p.batch * p.height * p.width;
  const size_t x_bytes = static_cast<size_t>(
      pixels * (p.shape.x == Element::kBits ? words * 4 : p.shape.channels * 4));
  const size_t w_bytes =
      static_cast<size_t>(Planes(p.shape) * p.shape.out_channels * Taps(p.shape) * words * 4);
  Aligned x(x_bytes), w(w_bytes), packed(product.packed_bytes()), scratch(plan.scratch_bytes);
  const size_t y_bytes = static_cast<size_t>(p.Outputs()) * sizeof(float);
  Aligned y(y_bytes), residual(y_bytes), bits(y_bytes / 8 + 64);
  if (p.shape.x == Element::kFloat32) {
    auto* f = static_cast<float*>(x.data);
    for (size_t i = 0; i < x_bytes / 4; ++i) f[i] = static_cast<float>(std::rand() % 255 - 127);
  }
  auto* r = static_cast<float*>(residual.data);
  for (size_t i = 0; i < y_bytes / 4; ++i) r[i] = static_cast<float>(std::rand() % 255 - 127);
  product.Pack(static_cast<const uint32_t*>(w.data), packed.data);
  std::vector<float> scale(static_cast<size_t>(p.shape.out_channels), 0.5f), shift(scale),
      slope(scale);
  const float one = 1.0f, zero = -0.0f;
  const bool floats = p.wanted == Wanted::kFloatsAndResidual;
  Call call{};
  call.x = x.data;
  call.packed = packed.data;
  call.scratch = scratch.data;
  call.y = floats ? y.data : nullptr;
  call.ybits = floats ? nullptr : static_cast<uint32_t*>(bits.data);
  call.epilogue = {-std::numeric_limits<float>::infinity(),
                   floats ? Vector{scale.data(), 1} : Vector{&one, 0},
                   floats ? Vector{shift.data(), 1} : Vector{&zero, 0},
                   {&one, 0},
                   {&zero, 0},
                   {shift.data(), 1},
                   {&one, 0},
                   {&one, 0},
                   floats ? residual.data : static_cast<const void*>(&zero),
                   floats ? 1 : 0};
  return Measure(seconds, [&] {
    for (int phase = 0; phase < plan.phases; ++phase) {
      for (int64_t unit = 0; unit < plan.units[phase]; ++unit) product.Run(plan, call, phase, unit);
    }
  });
}

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
      const double limit = MacsPerSecond(v.needed, p.shape.x == Element::kBits);
      const Time t = Run(p, Product::Only(p.shape, *v.variant), seconds);
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
