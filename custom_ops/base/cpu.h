// Which instruction sets the machine has, and which of them the user lets us use.
//
// The sets form a ladder per architecture, each rung including those below it:
//   x86-64:  scalar < avx2 < avx512bw < avx512vpopcnt < amx
//   aarch64: scalar < neon < neondot
// A kernel names the rung it needs; dispatch takes the first kernel of its kernels.inc whose rung
// is in the mask. CMake defines BNN_HAVE_<RUNG> for every rung that the compiler can build.
#ifndef BNN_BASE_CPU_H_
#define BNN_BASE_CPU_H_

#include <cstdint>

namespace bnn::cpu {

inline constexpr uint32_t kScalar = 1u << 0;         // portable C++17
inline constexpr uint32_t kAvx2 = 1u << 1;           // AVX2, F16C, POPCNT, BMI2
inline constexpr uint32_t kAvx512Bw = 1u << 2;       // and AVX-512 F, BW, DQ, VL
inline constexpr uint32_t kAvx512Vpopcnt = 1u << 3;  // and VPOPCNTDQ
inline constexpr uint32_t kAmx = 1u << 4;            // and AMX-TILE, AMX-INT8, AMX-BF16
inline constexpr uint32_t kNeon = 1u << 5;           // Advanced SIMD
inline constexpr uint32_t kNeonDot = 1u << 6;        // and the dot product extension

struct Rung {
  const char* name;
  uint32_t isa;
};

// Every rung that has a name, weakest first within its architecture.
inline constexpr Rung kRungs[] = {
    {"scalar", kScalar},     {"avx2", kAvx2},
    {"avx512bw", kAvx512Bw}, {"avx512vpopcnt", kAvx512Vpopcnt},
    {"amx", kAmx},           {"neon", kNeon},
    {"neondot", kNeonDot},
};

// Returns the mask of the rungs that this machine and its operating system support. The first call
// asks Linux for permission to use the AMX tile registers, as every process must.
uint32_t Supported();

// Returns `supported` without the rungs above the one called `cap`; a null or empty cap keeps all,
// a cap of the other architecture leaves scalar. Returns 0 when no rung has that name.
uint32_t Capped(uint32_t supported, const char* cap);

// Tells whether the mask `isa` holds the rung that a kernel needs.
static inline bool Has(uint32_t needed, uint32_t isa) { return (isa & needed) == needed; }

}  // namespace bnn::cpu

#endif  // BNN_BASE_CPU_H_
