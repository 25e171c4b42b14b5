// For the source of CUDA kernels only: what tensor cores take, as PTX and as an emulation for the
// host. PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
//
// A product adds 16 x 8 sums. Lane l holds, of A [16][8 words], word l%4 of rows l/4 and l/4 + 8
// and word l%4 + 4 of these rows; of B [8 columns][8 words], words l%4 and l%4 + 4 of column l/4;
// of the sums, columns 2*(l%4) and 2*(l%4) + 1 of rows l/4 and l/4 + 8.
#ifndef BNN_BASE_CUDA_TENSOR_H_
#define BNN_BASE_CUDA_TENSOR_H_

#include <cstdint>
#include <cstring>

#include "base/cuda_block.h"

namespace bnn::cuda {

// What a device's product of 256 bits adds without emulation: popc(a ^ b), popc(a & b), or, where
// there is no product of bits, popc(a & b) as eight products of bytes, 128 for each bit.
enum class BitProduct { kXor, kAnd, kBytes };

// `capability` counts on the host only: on a device it is that of the code.
BNN_BOTH constexpr BitProduct NativeBitProduct(int capability) {
#if defined(__CUDA_ARCH__)
  return __CUDA_ARCH__ >= 1000  ? BitProduct::kBytes
         : __CUDA_ARCH__ >= 900 ? BitProduct::kAnd
                                : BitProduct::kXor;
#else
  return capability >= 100  ? BitProduct::kBytes
         : capability >= 90 ? BitProduct::kAnd
                            : BitProduct::kXor;
#endif
}

// Returns the words of B as MultiplyBits takes them: kBytes wants each byte's bits in reverse, so
// that bit i of A, 2^i in its byte, meets 2^(7-i).
template <BitProduct product>
BNN_DEVICE uint32_t PrepareColumn(uint32_t word) {
  if constexpr (product != BitProduct::kBytes) return word;
#if defined(__CUDA_ARCH__)
  return __byte_perm(__brev(word), 0, 0x0123);
#else
  word = ((word >> 4) & 0x0f0f0f0fu) | ((word & 0x0f0f0f0fu) << 4);
  word = ((word >> 2) & 0x33333333u) | ((word & 0x33333333u) << 2);
  return ((word >> 1) & 0x55555555u) | ((word & 0x55555555u) << 1);
#endif
}

// Returns how many bits a sum of MultiplyBits counted, which may be up to 2^24.
template <BitProduct product>
BNN_DEVICE int CountOf(int sum) {
  return product == BitProduct::kBytes ? static_cast<int>(static_cast<uint32_t>(sum) >> 7) : sum;
}

// Returns the number whose upper 16 bits are `bits`.
BNN_DEVICE float BFloatToFloat(uint32_t bits) {
  const uint32_t word = bits << 16;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

#if !defined(__CUDACC__)

// Adds dot(word of A, word of B) over the words of a row and a column.
template <typename Sum, typename Dot>
void MultiplyOnHost(Sum (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                    const Dot& dot) {
  struct Fragment {
    uint32_t a[4], b[2];
  };
  struct Added {
    Sum sums[4];
  };
  const Fragment own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const Added added = host_cuda::Exchange<Added>(own, [&dot](const Fragment* in, Added* out) {
    for (int lane = 0; lane < kWarp; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4, half = i / 2, column = lane % 4 * 2 + i % 2;
        Sum sum = 0;
        for (int word = 0; word < 8; ++word) {
          const uint32_t x = in[row * 4 + word % 4].a[half + word / 4 * 2];
          sum += dot(x, in[column * 4 + word % 4].b[word / 4]);
        }
        out[lane].sums[i] = sum;
      }
    }
  });
  for (int i = 0; i < 4; ++i) sums[i] += added.sums[i];
}

inline int DotBytes(uint32_t a, uint32_t b) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += static_cast<int>((a >> shift) & 0xffu) * static_cast<int>((b >> shift) & 0xffu);
  }
  return sum;
}

inline float DotPairs(uint32_t a, uint32_t b) {
  return BFloatToFloat(a & 0xffffu) * BFloatToFloat(b & 0xffffu) +
         BFloatToFloat(a >> 16) * BFloatToFloat(b >> 16);
}

#endif

// One of the eight products of kBytes.
BNN_DEVICE void MultiplyBytes(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif !defined(__CUDACC__)
  MultiplyOnHost(sums, a, b, DotBytes);
#endif
}

// Adds the product of 16 rows of A and 8 columns of B, 256 bits deep.
template <BitProduct product>
BNN_DEVICE void MultiplyBits(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (product == BitProduct::kBytes) {
    BNN_UNROLL
    for (int i = 0; i < 8; ++i) {
      const uint32_t of_a = 0x01010101u << i, of_b = 0x80808080u >> i;
      const uint32_t rows[4] = {a[0] & of_a, a[1] & of_a, a[2] & of_a, a[3] & of_a};
      const uint32_t columns[2] = {b[0] & of_b, b[1] & of_b};
      MultiplyBytes(sums, rows, columns);
    }
    return;
  }
#if !defined(__CUDACC__)
  MultiplyOnHost(sums, a, b, [](uint32_t x, uint32_t y) {
    return CountBits(product == BitProduct::kXor ? x ^ y : x & y);
  });
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5,%6,%7},"
      "{%8,%9},{%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
  asm volatile(
      "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3},{%4,%5,%6,%7},"
      "{%8,%9},{%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  BNN_UNROLL
  for (int i = 0; i < 4; ++i) {  // this device has 8 x 8 x 128: a half of the rows, of the depth
    asm volatile(
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0,%1},{%2},{%3},{%0,%1};"
        : "+r"(sums[i % 2 * 2]), "+r"(sums[i % 2 * 2 + 1])
        : "r"(a[i]), "r"(b[i / 2]));
  }
#endif
}

// Adds the product of 16 rows of A and 8 columns of B, 16 bfloat16 deep, two in a word. Devices
// before 8.0 have none.
BNN_DEVICE void MultiplyPairs(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif !defined(__CUDACC__)
  MultiplyOnHost(sums, a, b, DotPairs);
#endif
}

// Loads four 8 x 4 words: lane l names row l%8 of matrix l/8, 16 bytes of shared memory, and gets
// word l%4 of row l/4 of each.
BNN_DEVICE void LoadMatrices(uint32_t (&words)[4], const uint32_t* row) {
#if defined(__CUDA_ARCH__)
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
#elif !defined(__CUDACC__)
  struct Loaded {
    uint32_t words[4];
  };
  const Loaded loaded =
      host_cuda::Exchange<Loaded>(row, [](const uint32_t* const* in, Loaded* out) {
        for (int lane = 0; lane < kWarp; ++lane) {
          for (int m = 0; m < 4; ++m) out[lane].words[m] = in[m * 8 + lane / 4][lane % 4];
        }
      });
  for (int m = 0; m < 4; ++m) words[m] = loaded.words[m];
#endif
}

// Starts to copy `kBytes` (4, 8 or 16, aligned to that) to shared memory; zeros unless `inside`.
// Devices before 8.0 copy at once.
template <int kBytes>
BNN_DEVICE void CopyAsync(uint32_t* to, const uint32_t* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from),
                 "n"(kBytes), "r"(inside ? kBytes : 0)
                 : "memory");
  }
#elif defined(__CUDACC__)
  BNN_UNROLL
  for (int i = 0; i < kBytes / 4; ++i) to[i] = inside ? from[i] : 0u;
#else
  host_cuda::StartCopy(to, from, kBytes, inside);
#endif
}

// Ends a group of copies.
BNN_DEVICE void CommitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  host_cuda::CommitCopies();
#endif
}

// Waits until all but the last `kLeft` groups of this thread have arrived.
template <int kLeft>
BNN_DEVICE void WaitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#elif !defined(__CUDACC__)
  host_cuda::WaitCopies(kLeft);
#endif
}

}  // namespace bnn::cuda

#endif  // BNN_BASE_CUDA_TENSOR_H_
