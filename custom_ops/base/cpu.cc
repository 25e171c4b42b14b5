#include "base/cpu.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace bnn::cpu {
namespace {

#if defined(__x86_64__)

bool AllSet(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

// Returns which register files the operating system saves on a context switch.
uint64_t EnabledStates() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Linux hands out the 8 KiB of tile data only on request (kernel documentation, "x86/xstate").
bool RequestTiles() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

uint32_t Detect() {
  // Bits of cpuid leaves 1 and 7 (Intel SDM volume 2A, CPUID).
  constexpr uint32_t kPopcnt = 1u << 23, kOsxsave = 1u << 27, kF16c = 1u << 29;  // 1.ecx
  constexpr uint32_t kAvx2Bit = 1u << 5, kBmi2 = 1u << 8;                        // 7.ebx
  constexpr uint32_t kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;
  constexpr uint32_t kVpopcntdq = 1u << 14;                                         // 7.ecx
  constexpr uint32_t kTileBf16 = 1u << 22, kTile = 1u << 24, kTileInt8 = 1u << 25;  // 7.edx
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe0, kTiles = 0x60000;                     // xcr0

  uint32_t a, b, c, d, c1;
  if (!__get_cpuid(1, &a, &b, &c1, &d) || !AllSet(c1, kPopcnt | kOsxsave | kF16c)) return kScalar;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return kScalar;
  const uint64_t states = EnabledStates();
  uint32_t isa = kScalar;
  if (!AllSet(b, kAvx2Bit | kBmi2) || !AllSet(states, kYmm)) return isa;
  isa |= kAvx2;
  if (!AllSet(b, kF | kDq | kBw | kVl) || !AllSet(states, kZmm)) return isa;
  isa |= kAvx512Bw;
  if (!AllSet(c, kVpopcntdq)) return isa;
  isa |= kAvx512Vpopcnt;
  if (!AllSet(d, kTile | kTileInt8 | kTileBf16) || !AllSet(states, kTiles)) return isa;
  if (RequestTiles()) isa |= kAmx;
  return isa;
}

#elif defined(__aarch64__)

uint32_t Detect() {
  const unsigned long caps = getauxval(AT_HWCAP);
  uint32_t isa = kScalar;
  if (caps & HWCAP_ASIMD) isa |= kNeon;
  if ((caps & HWCAP_ASIMD) && (caps & HWCAP_ASIMDDP)) isa |= kNeonDot;
  return isa;
}

#else

uint32_t Detect() { return kScalar; }

#endif

}  // namespace

uint32_t Supported() {
  static const uint32_t isa = Detect();
  return isa;
}

uint32_t Capped(uint32_t supported, const char* cap) {
  if (cap == nullptr || *cap == '\0') return supported;
  constexpr uint32_t kX86 = kAvx2 | kAvx512Bw | kAvx512Vpopcnt | kAmx;
  constexpr uint32_t kArm = kNeon | kNeonDot;
  for (const Rung& rung : kRungs) {
    if (std::strcmp(rung.name, cap) != 0) continue;
    // The bits of a ladder ascend, so (isa - 1) holds every weaker rung, here or of the other arch.
    const uint32_t ladder = (rung.isa & kX86) ? kX86 : (rung.isa & kArm) ? kArm : 0;
    return supported & (kScalar | (ladder & (rung.isa | (rung.isa - 1))));
  }
  return 0;
}

}  // namespace bnn::cpu
