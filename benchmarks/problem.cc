#include "benchmarks/problem.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <vector>

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

}  // namespace

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

}  // namespace bnn::product
