// Every variant against plain loops: exact where sums are exact, within the bound elsewhere.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/cpu.h"
#include "base/half.h"
#include "kernels/product/test_reference.h"
#include "kernels/product/variant.h"

namespace bnn::product {
namespace {

using testing::Check;
using testing::Random;

// Heap memory that ends where its data end, so that AddressSanitizer sees the first byte past it,
// at `offset` bytes past a multiple of kAlignment.
class Memory {
 public:
  explicit Memory(size_t bytes, size_t offset = 0) : bytes_(bytes), offset_(offset) {
    if (posix_memalign(&block_, kAlignment, bytes + offset + 1) != 0) std::abort();
    std::memset(data(), kFill, bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(block_); }

  template <typename T>
  Memory(const std::vector<T>& values, size_t offset) : Memory(values.size() * sizeof(T), offset) {
    if (!values.empty()) std::memcpy(data(), values.data(), bytes_);
  }

  uint8_t* data() const { return static_cast<uint8_t*>(block_) + offset_; }
  bool Untouched(size_t begin, size_t end) const {
    return std::all_of(data() + begin, data() + end, [](uint8_t b) { return b == kFill; });
  }

 private:
  static constexpr uint8_t kFill = 0xa5;
  void* block_ = nullptr;
  size_t bytes_, offset_;
};

constexpr size_t kGuard = 64;  // bytes on both sides of an output that must stay as they are

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float v : values) halves.push_back(FloatToHalf(v));
  return halves;
}

Memory RealMemory(Element type, const std::vector<float>& values, size_t offset) {
  if (type == Element::kFloat16) return Memory(Halves(values), offset / 2);
  return Memory(values, offset);
}

Vector View(const std::vector<float>& v) { return {v.data(), v.size() == 1 ? 0 : 1}; }

bool Same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Runs the product the way an operator does, its units in random order.
class Runner {
 public:
  Runner(const Case& c, const Product& product, int threads, Random* random)
      : case_(c), product_(product), threads_(threads), random_(random) {}

  // Checks Y and Ybits, wanted or not, against the reference.
  void Compare(const Outputs& expected, bool want_y, bool want_bits, bool exact) {
    const Shape& s = case_.shape;
    const size_t y_bytes = expected.y.size() * (s.y == Element::kFloat16 ? 2 : 4);
    const size_t bits_bytes = expected.bits.size() * 4;
    const size_t offset = 4 * static_cast<size_t>(random_->Below(16));
    Memory y(y_bytes + 2 * kGuard, offset), bits(bits_bytes + 2 * kGuard, offset);
    name_ = Execute(want_y ? y.data() + kGuard : nullptr,
                    want_bits ? bits.data() + kGuard : nullptr, offset);
    Check(y.Untouched(0, kGuard) && y.Untouched(kGuard + y_bytes, 2 * kGuard + y_bytes),
          Say("Y guard"));
    Check(bits.Untouched(0, kGuard) && bits.Untouched(kGuard + bits_bytes, 2 * kGuard + bits_bytes),
          Say("Ybits guard"));
    if (want_y) CompareY(expected, y.data() + kGuard, exact);
    if (want_bits && exact) {
      const bool same = bits_bytes == 0 ||
                        std::memcmp(bits.data() + kGuard, expected.bits.data(), bits_bytes) == 0;
      Check(same, Say("Ybits differ"));
    }
  }

 private:
  std::string Execute(uint8_t* y, uint8_t* bits, size_t offset) {
    const Shape& s = case_.shape;
    const Memory words(case_.words, offset), packed(product_.packed_bytes());
    product_.Pack(reinterpret_cast<const uint32_t*>(words.data()), packed.data());
    const Plan plan = product_.PlanCall(case_.batch, case_.height, case_.width, threads_);
    const Memory scratch(plan.scratch_bytes);
    const Memory x_words(case_.x_words, offset);
    const Memory x_reals = RealMemory(s.x, case_.x_floats, offset);
    const Memory residual = RealMemory(s.y, case_.residual, offset);
    Call call{};
    call.x = s.x == Element::kBits ? x_words.data() : x_reals.data();
    call.packed = packed.data();
    call.y = y;
    call.ybits = reinterpret_cast<uint32_t*>(bits);
    call.scratch = scratch.data();
    call.epilogue = {case_.acc_min,     View(case_.scale),
                     View(case_.bias),  View(case_.slope),
                     View(case_.shift), View(case_.threshold),
                     View(case_.w_pos), View(case_.w_neg),
                     residual.data(),   case_.residual.size() == 1 ? 0 : 1};
    for (int phase = 0; phase < plan.phases; ++phase) {
      std::vector<int64_t> units;
      for (int64_t u = 0; u < plan.units[phase]; ++u) {
        units.insert(units.begin() + random_->Below(u + 1), u);
      }
      // Real threads now and then, for ThreadSanitizer to watch.
      const size_t workers = threads_ == 3 ? 3 : 1;
      const auto work = [&](size_t worker) {
        for (size_t i = worker; i < units.size(); i += workers) {
          product_.Run(plan, call, phase, units[i]);
        }
      };
      std::vector<std::thread> others;
      for (size_t worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
      work(0);
      for (std::thread& other : others) other.join();
    }
    return VariantName(plan);
  }

  void CompareY(const Outputs& expected, const uint8_t* y, bool exact) {
    for (size_t i = 0; i < expected.y.size(); ++i) {
      float value;
      if (case_.shape.y == Element::kFloat16) {
        uint16_t half;
        std::memcpy(&half, y + 2 * i, sizeof half);
        value = HalfToFloat(half);
      } else {
        std::memcpy(&value, y + 4 * i, sizeof value);
      }
      float allowed = exact ? 0.0f : expected.bound[i];
      if (case_.shape.y == Element::kFloat16) allowed += std::fabs(expected.y[i]) * 0x1p-10f;
      if (exact ? Same(value, expected.y[i]) : std::fabs(value - expected.y[i]) <= allowed)
        continue;
      Check(false, Say("Y[" + std::to_string(i) + "] is " + std::to_string(value) + ", expected " +
                       std::to_string(expected.y[i])));
      return;
    }
    Check(true, "");
  }

  std::string Say(const std::string& what) const {
    return name_ + " on " + std::to_string(threads_) + " threads: " + what + "; " +
           case_.ToString();
  }

  const Case& case_;
  const Product& product_;
  int threads_;
  Random* random_;
  std::string name_;
};

struct Named {
  uint32_t needed;
  const Variant* variant;
};

std::vector<Named> Variants() {
  return {
#define BNN_KERNEL(needed, variant) {needed, &variant},
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL
  };
}

// Checks one case with every variant that fits and that this machine can run.
void CheckCase(const Case& c, bool exact, Random* random) {
  const Outputs expected = Reference(c);
  for (const Named& named : Variants()) {
    if (!cpu::Has(named.needed, cpu::Supported()) || !named.variant->fits(c.shape)) continue;
    const Product product = Product::Only(c.shape, *named.variant);
    const int threads = random->OneOf<int>({1, 2, 3, 64});
    const int64_t wanted = random->Below(4);  // most often both outputs
    Runner(c, product, threads, random).Compare(expected, wanted != 1, wanted != 2, exact);
  }
}

Element XType(Random* random) {
  return random->OneOf<Element>(
      {Element::kBits, Element::kBits, Element::kFloat32, Element::kFloat16});
}

void SetTypes(Shape* s, Random* random) {
  s->x = XType(random);
  s->y = s->x != Element::kBits ? s->x
                                : random->OneOf<Element>({Element::kFloat32, Element::kFloat16});
  s->codes = random->OneOf<Codes>({Codes::kBinary, Codes::kTernary, Codes::kTernaryEqual});
}

void CheckGemm(int64_t m, int64_t n, int64_t k, Random* random) {
  Shape s;
  SetTypes(&s, random);
  s.channels = k;
  s.out_channels = n;
  CheckCase(MakeCase(s, m, 1, 1, true, random), true, random);
}

BNN_TEST("a matrix product equals plain loops for every depth from 1 to 300") {
  Random random(1);
  for (int64_t k = 1; k <= 300; ++k) {
    CheckGemm(random.Between(1, 20), random.Between(1, 70), k, &random);
  }
}

BNN_TEST("a matrix product equals plain loops on both sides of every tile edge") {
  Random random(2);
  for (const int64_t m : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129}) {
    for (const int64_t n : {1, 15, 16, 17, 31, 32, 33, 64, 65}) {
      CheckGemm(m, n, random.OneOf<int64_t>({63, 64, 65, 127, 128, 129, 511, 512, 513}), &random);
    }
  }
}

BNN_TEST("a matrix product equals plain loops for large depths") {
  Random random(3);
  for (const int64_t k : {1023, 1024, 2047, 2049, 4096, 4609, 9000}) {
    for (int repeat = 0; repeat < 6; ++repeat) {
      CheckGemm(random.Between(1, 40), random.Between(1, 40), k, &random);
    }
  }
}

BNN_TEST("deep matrix products of many rows equal plain loops") {
  Random random(13);
  for (const int64_t m : {65, 80, 97, 128, 129, 530}) {
    Shape s;
    s.codes = random.OneOf<Codes>({Codes::kBinary, Codes::kTernaryEqual});
    s.channels = random.OneOf<int64_t>({1024, 1100, 1536, 2049});
    s.out_channels = random.Between(15, 50);
    CheckCase(MakeCase(s, m, 1, 1, true, &random), true, &random);
  }
}

BNN_TEST("products with many output channels equal plain loops") {
  Random random(12);
  for (int repeat = 0; repeat < 30; ++repeat) {
    CheckGemm(random.Between(1, 9), random.Between(127, 300), random.Between(1, 200), &random);
    Shape s;
    SetTypes(&s, &random);
    s.group = random.Between(1, 2);
    s.channels = s.group * 32 * random.Between(1, 2);
    s.out_channels = s.group * random.Between(128, 150);
    s.kernel_h = s.kernel_w = 3;
    s.pad_top = s.pad_left = 1;
    s.pad_value = static_cast<int>(random.Between(-1, 1));
    CheckCase(MakeCase(s, random.Between(1, 2), 4, random.Between(2, 4), true, &random), true,
              &random);
  }
}

BNN_TEST("a matrix product equals plain loops where every bit differs or none does") {
  Random random(11);
  // NEON sums drain before sixteen bits overflow, at the last depth; not every case wants Y.
  for (const int64_t k : {64, 2016, 2017, 2080, 4096, 9000, 262208, 262208, 262208, 262208}) {
    for (const uint32_t words : {0u, ~0u}) {
      Shape s;
      s.codes = random.OneOf<Codes>({Codes::kBinary, Codes::kTernary, Codes::kTernaryEqual});
      s.channels = k;
      s.out_channels = k < 10000 ? 33 : 2;
      Case c = MakeCase(s, 5, 1, 1, true, &random);
      const size_t plane = static_cast<size_t>(s.out_channels * bits::WordCount(k));
      for (size_t i = 0; i < c.words.size(); ++i) {
        c.words[i] =
            static_cast<int64_t>(i + 1) % bits::WordCount(k) == 0 ? bits::LastWordMask(k) : ~0u;
        if (i >= plane) c.words[i] = 0;
      }
      for (uint32_t& w : c.x_words) w = words;
      CheckCase(c, true, &random);
    }
  }
}

Shape RandomConv(Random* random) {
  Shape s;
  SetTypes(&s, random);
  s.kernel_h = random->Between(1, 4);
  s.kernel_w = random->Between(1, 4);
  s.stride_h = random->Between(1, 3);
  s.stride_w = random->Between(1, 3);
  s.dilation_h = random->Between(1, 3);
  s.dilation_w = random->Between(1, 3);
  s.pad_top = random->Between(0, 3);
  s.pad_left = random->Between(0, 3);
  s.pad_bottom = random->Between(0, 3);
  s.pad_right = random->Between(0, 3);
  s.pad_value = static_cast<int>(random->Between(-1, 1));
  s.group = random->Chance(70) ? 1 : random->Between(2, 4);
  const bool words = s.x == Element::kBits && s.group > 1;
  s.channels = words ? 32 * s.group * random->Between(1, 3)
                     : s.group * random->Between(1, s.group > 1 ? 20 : 300);
  s.out_channels = s.group * random->Between(1, s.group > 1 ? 40 : 70);
  return s;
}

BNN_TEST("a convolution equals plain loops for random kernels, strides, pads and groups") {
  Random random(4);
  for (int repeat = 0; repeat < 250; ++repeat) {
    const Shape s = RandomConv(&random);
    CheckCase(MakeCase(s, random.Between(1, 3), random.Between(1, 12), random.Between(1, 12), true,
                       &random),
              true, &random);
  }
}

BNN_TEST("a 3x3 same convolution equals plain loops for every channel count from 1 to 300") {
  Random random(5);
  for (int64_t channels = 1; channels <= 300; ++channels) {
    Shape s;
    SetTypes(&s, &random);
    s.channels = channels;
    s.out_channels = random.Between(1, 40);
    s.kernel_h = s.kernel_w = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.pad_value = static_cast<int>(random.Between(-1, 1));
    CheckCase(MakeCase(s, 1, random.Between(1, 6), random.Between(1, 6), true, &random), true,
              &random);
  }
}

BNN_TEST("the convolutions of a residual network equal plain loops") {
  Random random(6);
  const int64_t sizes[][2] = {{14, 64}, {14, 128}, {14, 256}, {7, 512}};
  for (const auto& [size, channels] : sizes) {
    Shape s;
    SetTypes(&s, &random);
    s.channels = channels;
    s.out_channels = 64;
    s.kernel_h = s.kernel_w = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    CheckCase(MakeCase(s, 1, size, size, true, &random), true, &random);
  }
}

BNN_TEST("a kernel as large as the map serves many images at once") {
  Random random(7);
  for (const int64_t batch : {1, 2, 17, 70}) {
    for (const int64_t channels : {3, 32, 64, 96}) {
      Shape s;
      SetTypes(&s, &random);
      s.channels = channels;
      s.out_channels = random.Between(1, 40);
      s.kernel_h = s.kernel_w = 3;
      s.pad_top = random.Between(0, 1);
      s.pad_value = static_cast<int>(random.Between(-1, 1));
      CheckCase(MakeCase(s, batch, 3 - s.pad_top, 3, true, &random), true, &random);
    }
  }
}

BNN_TEST("sums of real-valued inputs stay within the error bound") {
  Random random(8);
  for (int repeat = 0; repeat < 60; ++repeat) {
    Shape s = RandomConv(&random);
    if (s.x == Element::kBits) s.x = s.y = Element::kFloat32;
    if (s.codes == Codes::kTernaryEqual) s.codes = Codes::kTernary;
    CheckCase(MakeCase(s, 2, random.Between(1, 9), random.Between(1, 9), false, &random), false,
              &random);
    Shape gemm;
    gemm.x = gemm.y = random.OneOf<Element>({Element::kFloat32, Element::kFloat16});
    gemm.codes = s.codes;
    gemm.channels = random.Between(1, 2000);
    gemm.out_channels = random.Chance(50) ? random.Between(1, 40) : 130;
    CheckCase(MakeCase(gemm, random.Between(1, 40), 1, 1, false, &random), false, &random);
  }
}

BNN_TEST("an empty batch and an image smaller than the kernel have nothing to run") {
  Random random(9);
  Shape s;
  s.kernel_h = s.kernel_w = 3;
  const Product product = Product::Select(s, cpu::Supported());
  Check(product.PlanCall(0, 5, 5, 2).phases == 0, "empty batch");
  Check(product.PlanCall(1, 2, 5, 2).phases == 0, "height below the kernel");
  Check(product.PlanCall(1, 0, 0, 2).phases == 0, "empty image");
  Check(product.PlanCall(1, 3, 3, 2).phases > 0, "one output");
}

BNN_TEST("a cap on the instruction set names the variant that is chosen") {
  for (const cpu::Rung& known : cpu::kRungs) {
    const std::string rung = known.name;
    const uint32_t isa = cpu::Capped(cpu::Supported(), rung.c_str());
    const uint32_t needed = cpu::Capped(~0u, rung.c_str());
    if (!cpu::Has(needed & ~cpu::Capped(~0u, "scalar"), isa)) continue;  // not this machine
    Shape s;
    Check(Product::Select(s, isa).name() == "bits_" + rung, "bits capped to " + rung);
    s.x = Element::kFloat32;
    s.channels = s.out_channels = 256;
    const std::string floats = rung == "scalar" || rung == "avx2" || rung == "amx" ? rung
                               : cpu::Has(cpu::kNeon, isa)                         ? "neon"
                                                                                   : "avx512bw";
    Check(Product::Select(s, isa).name() == "float_" + floats, "floats capped to " + rung);
  }
}

BNN_TEST("a matrix product of few rows goes to the variant that counts bits") {
  if (!cpu::Has(cpu::kAmx, cpu::Supported())) return Check(true, "");
  Random random(10);
  Shape s;
  s.channels = 256;
  s.out_channels = 48;
  const Product product = Product::Select(s, cpu::Supported());
  Check(VariantName(product.PlanCall(1, 1, 1, 1)) == std::string("bits_avx512vpopcnt"), "one row");
  Check(VariantName(product.PlanCall(128, 1, 1, 1)) == std::string("bits_amx"), "128 rows");
  for (const int64_t rows : {1, 128}) {
    const Case c = MakeCase(s, rows, 1, 1, true, &random);
    Runner(c, product, 1, &random).Compare(Reference(c), true, true, true);
  }
}

BNN_TEST("few and many rows of real-valued inputs share one copy of the weights") {
  if (!cpu::Has(cpu::kAmx, cpu::Supported())) return Check(true, "");
  Random random(14);
  Shape s;
  s.x = Element::kFloat32;
  s.channels = 256;
  s.out_channels = 160;
  const Product product = Product::Select(s, cpu::Supported());
  Check(VariantName(product.PlanCall(1, 1, 1, 1)) == std::string("float_avx512bw"), "one row");
  Check(VariantName(product.PlanCall(64, 1, 1, 1)) == std::string("float_amx"), "64 rows");
  Check(product.packed_bytes() == 160 * 256 / 8, "one copy");
  for (const int64_t rows : {1, 64}) {
    const Case c = MakeCase(s, rows, 1, 1, true, &random);
    Runner(c, product, 1, &random).Compare(Reference(c), true, true, true);
  }
}

BNN_TEST("maps times filters that are mostly +1, -1 or 0 are exact") {
  Random random(15);
  for (const int mostly : {1, -1, 0}) {
    for (const int64_t channels : {1, 5, 16, 40, 100}) {
      Shape s;
      s.x = s.y = random.OneOf<Element>({Element::kFloat32, Element::kFloat16});
      s.codes = random.OneOf<Codes>({Codes::kTernary, Codes::kTernaryEqual});
      s.channels = channels;
      s.out_channels = random.Between(1, 70);
      s.kernel_h = s.kernel_w = 3;
      s.stride_h = s.stride_w = random.Between(1, 2);
      s.pad_left = s.pad_top = 1;
      s.pad_value = static_cast<int>(random.Between(-1, 1));
      Case c = MakeCase(s, 2, random.Between(2, 20), random.Between(2, 20), true, &random);
      uint32_t* plus = c.words.data();
      uint32_t* minus = plus + c.words.size() / 2;
      for (size_t i = 0; i < c.words.size() / 2; ++i) {
        const uint32_t some = plus[i] | minus[i];
        const auto few = static_cast<uint32_t>(random.Bits() & random.Bits() & random.Bits());
        plus[i] = some & (mostly == 1 ? ~few : mostly == 0 ? plus[i] & few : few);
        minus[i] = some & (mostly == -1 ? ~few : mostly == 0 ? minus[i] & few : few);
      }
      CheckCase(c, true, &random);
    }
  }
}

BNN_TEST("ternary filters of few real-valued channels add what they select") {
  Shape s;
  s.x = Element::kFloat32;
  s.codes = Codes::kTernary;
  s.channels = s.out_channels = 16;
  s.kernel_h = s.kernel_w = 3;
  if (!cpu::Has(cpu::kAvx512Bw, cpu::Supported())) return Check(true, "");
  const Product product = Product::Select(s, cpu::Supported());
  Check(product.name() == std::string("float_avx512bw"), "chosen");
  Check(product.packed_bytes() <= 16 * 16 * 9 * 4 / 6, "weights of at most 1/6 of float32");
}

BNN_TEST("EqualScales accepts equal powers of two only") {
  const float equal[] = {1.0f, -0.5f, 4.0f}, other[] = {1.0f, 0.5f, 4.0f}, three[] = {3.0f};
  const float zero[] = {0.0f}, huge[] = {0x1p100f};
  Check(EqualScales({equal, 1}, {equal, 1}, 3), "equal powers of two");
  Check(!EqualScales({equal, 1}, {other, 1}, 3), "different signs");
  Check(!EqualScales({three, 0}, {three, 0}, 3), "three is no power of two");
  Check(!EqualScales({zero, 0}, {zero, 0}, 3), "zero");
  Check(!EqualScales({huge, 0}, {huge, 0}, 3), "products may overflow");
  Check(EqualScales({equal, 0}, {equal, 0}, 3), "one element");
}

}  // namespace
}  // namespace bnn::product
