// Instructions of tensor cores and of their operands, emulated; layouts are those of the PTX ISA.
#ifndef BNN_HOST_CUDA_INSTRUCTIONS_H_
#define BNN_HOST_CUDA_INSTRUCTIONS_H_

#include <cstdint>
#include <cstring>

#include "host_cuda/warp.h"

namespace bnn::host_cuda {

// The compute capability that the running kernel finds, such as 90.
inline thread_local int capability = 75;

// Four 8 x 16-byte matrices: lane i names row i % 8 of matrix i / 8 and gets word i % 4 of row i /
// 4 of each.
inline void LoadMatrices(uint32_t (&values)[4], const void* row) {
  struct Operands {
    const void* row;
    uint32_t* values;
  } mine = {row, values};
  Together(&mine, [](Operands** lanes) {
    for (int i = 0; i < kWarpLanes; ++i) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        const auto* from = static_cast<const char*>(lanes[matrix * 8 + i / 4]->row);
        std::memcpy(&lanes[i]->values[matrix], from + i % 4 * 4, 4);
      }
    }
  });
}

// c[16][8] += a[16][8 words] times b[8][8 words]; add(sum, a, b) takes one word of each. The words
// of m16n8k256.b1, m16n8k32.u8 and m16n8k16.bf16 lie alike in the registers.
template <typename Sum, typename Add>
void Multiply16x8(Sum (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const Add& add) {
  struct Operands {
    Sum* c;
    const uint32_t *a, *b;
  } mine = {c, a, b};
  Together(&mine, [&add](Operands** lanes) {
    for (int i = 0; i < kWarpLanes; ++i) {
      for (int j = 0; j < 4; ++j) {
        const int row = i / 4, half = j / 2, column = i % 4 * 2 + j % 2;
        Sum sum = lanes[i]->c[j];
        for (int word = 0; word < 8; ++word) {
          const uint32_t x = lanes[row * 4 + word % 4]->a[word / 4 * 2 + half];
          const uint32_t y = lanes[column * 4 + word % 4]->b[word / 4];
          sum = add(sum, x, y);
        }
        lanes[i]->c[j] = sum;
      }
    }
  });
}

inline void MultiplyXor(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Multiply16x8(c, a, b,
               [](int sum, uint32_t x, uint32_t y) { return sum + __builtin_popcount(x ^ y); });
}

inline void MultiplyAnd(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Multiply16x8(c, a, b,
               [](int sum, uint32_t x, uint32_t y) { return sum + __builtin_popcount(x & y); });
}

// Sums wrap around, as on the device.
inline void MultiplyBytes(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Multiply16x8(c, a, b, [](int sum, uint32_t x, uint32_t y) {
    auto total = static_cast<uint32_t>(sum);
    for (int byte = 0; byte < 4; ++byte) {
      total += (x >> (8 * byte) & 0xffu) * (y >> (8 * byte) & 0xffu);
    }
    return static_cast<int>(total);
  });
}

// Products are exact, sums are rounded one after the other; the order of a device is not defined.
inline void MultiplyBfloat(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  Multiply16x8(c, a, b, [](float sum, uint32_t x, uint32_t y) {
    for (int shift = 16; shift >= 0; shift -= 16) {
      const uint32_t words[2] = {x << shift & 0xffff0000u, y << shift & 0xffff0000u};
      float values[2];
      std::memcpy(values, words, sizeof(values));
      sum += values[0] * values[1];
    }
    return sum;
  });
}

}  // namespace bnn::host_cuda

#endif  // BNN_HOST_CUDA_INSTRUCTIONS_H_
