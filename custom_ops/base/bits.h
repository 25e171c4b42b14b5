// Arithmetic on packed bits; the convention is written down in docs/bit_layout.md.
#ifndef BNN_BASE_BITS_H_
#define BNN_BASE_BITS_H_

#include <cstdint>

// Functions here have internal linkage: files compiled for different instruction sets include this,
// and the linker must not let one of them supply another's code.
namespace bnn::bits {

inline constexpr int64_t kWordBits = 32;

// Returns how many words hold `length` bits.
static constexpr int64_t WordCount(int64_t length) { return (length + kWordBits - 1) / kWordBits; }

// Returns the word with the lowest `count` bits set, 0 <= count <= 32.
static constexpr uint32_t LowMask(int64_t count) {
  return count >= kWordBits ? ~0u : (1u << count) - 1u;
}

// Returns which bits of the last word of a `length`-bit row hold values; the others are pad bits.
static constexpr uint32_t LastWordMask(int64_t length) {
  return LowMask(length - (WordCount(length) - 1) * kWordBits);
}

// Returns the number of set bits.
static inline int PopCount(uint32_t word) { return __builtin_popcount(word); }

}  // namespace bnn::bits

#endif  // BNN_BASE_BITS_H_
