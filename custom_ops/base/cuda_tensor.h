// For the source of CUDA kernels whose blocks exchange data: launches, asynchronous copies and the
// instructions of tensor cores. Each has a body in PTX and one for the host.
#ifndef BNN_BASE_CUDA_TENSOR_H_
#define BNN_BASE_CUDA_TENSOR_H_

#include "base/cuda_kernel.h"

#if !defined(__CUDACC__)
#include "host_cuda/instructions.h"
#endif

// Declares `name`, dynamic shared memory as an array of `type`, aligned to 128 bytes.
#if defined(__CUDACC__)
#define BNN_DYNAMIC_SHARED(type, name)                    \
  extern __shared__ __align__(128) char name##_dynamic[]; \
  type* const name = reinterpret_cast<type*>(name##_dynamic)
#else
#define BNN_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(bnn::host_cuda::DynamicShared())
#endif

namespace bnn::cuda {

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

// Queues kernel(arguments...) on a grid of blocks that may exchange data. More than 48 KB of
// dynamic shared memory have to be allowed before, when the node is created. `capability` is the
// device's.
template <typename Kernel, typename... Arguments>
Status LaunchBlocks(Kernel* kernel, Grid grid, unsigned threads, size_t shared_bytes,
                    int capability, Stream stream, const Arguments&... arguments) {
#if defined(__CUDACC__)
  static_cast<void>(capability);
  kernel<<<dim3(grid.x, grid.y, grid.z), threads, shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  return cudaGetLastError();
#else
  static_cast<void>(stream);
  host_cuda::capability = capability;
  host_cuda::LaunchFibers({grid.x, grid.y, grid.z}, threads, shared_bytes,
                          [&] { kernel(arguments...); });
  return 0;
#endif
}

// The compute capability of the running device: in its code known to the compiler.
BNN_DEVICE int DeviceCapability() {
#if defined(__CUDA_ARCH__)
  return __CUDA_ARCH__ / 10;
#elif defined(__CUDACC__)
  return 0;
#else
  return host_cuda::capability;
#endif
}

// The address of shared memory as instructions take it.
#if defined(__CUDA_ARCH__)
BNN_DEVICE uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
#endif

// Starts to copy kBytes (4, 8 or 16, both addresses aligned to them) to shared memory, or zeros if
// not `valid`; then nothing of `from` is read. Up to 7.5 the copy is done at once.
template <int kBytes>
BNN_DEVICE void CopyAsync(void* to, const void* from, bool valid) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "sizes of cp.async");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int bytes = valid ? kBytes : 0;
  if (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)),
                 "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(SharedAddress(to)),
                 "l"(from), "n"(kBytes), "r"(bytes)
                 : "memory");
  }
#elif defined(__CUDACC__)
  constexpr int kWords = kBytes / 4;
  struct alignas(kBytes) Words {
    uint32_t words[kWords];
  };
  Words words = {};
  if (valid) words = *static_cast<const Words*>(from);
  *static_cast<Words*>(to) = words;
#else
  host_cuda::QueueCopy(to, from, valid ? kBytes : 0, kBytes);
#endif
}

// Ends a group of copies, which may be empty.
BNN_DEVICE void CommitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  host_cuda::CommitCopies();
#endif
}

// Waits until at most kGroups of this thread's groups of copies are under way. Other threads see
// the copies after a barrier.
template <int kGroups>
BNN_DEVICE void WaitForCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#elif !defined(__CUDACC__)
  host_cuda::WaitForCopies(kGroups);
#endif
}

// Loads four matrices of 8 rows of 16 bytes from shared memory: lane i passes row i % 8 of matrix
// i / 8, aligned to 16 bytes, and gets word i % 4 of row i / 4 of each.
BNN_DEVICE void LoadMatrices(uint32_t (&values)[4], const void* row) {
#if defined(__CUDA_ARCH__)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(SharedAddress(row))
               : "memory");
#elif !defined(__CUDACC__)
  host_cuda::LoadMatrices(values, row);
#endif
}

#if defined(__CUDA_ARCH__)
#define BNN_MMA_16X8(name, constraint, c, a, b)                                         \
  asm volatile("mma.sync.aligned." name                                                 \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"       \
               : constraint(c[0]), constraint(c[1]), constraint(c[2]), constraint(c[3]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

// How the device multiplies bits: natively, with popc(a ^ b) or popc(a & b), or by bit planes of
// bytes. Other ways compile for it as well, to slow calls.
enum class BitProduct { kXor, kAnd, kBytes };

BNN_DEVICE BitProduct NativeBitProduct() {
  return DeviceCapability() < 90    ? BitProduct::kXor
         : DeviceCapability() < 100 ? BitProduct::kAnd
                                    : BitProduct::kBytes;
}

// c[16][8] += the bit product of a[16][256] and b[8][256]. For kBytes the bits of each byte of b
// are reversed before (PrepareBits) and sums count 128 for a bit (CountOf).
BNN_DEVICE void MultiplyBits(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  // Bit i of a byte of a, worth 2^i, meets bit 7 - i of b, worth 2^(7 - i).
  BNN_UNROLL
  for (int i = 0; i < 8; ++i) {
    const uint32_t of_a = 0x01010101u << i, of_b = 0x80808080u >> i;
    const uint32_t x[4] = {a[0] & of_a, a[1] & of_a, a[2] & of_a, a[3] & of_a};
    const uint32_t y[2] = {b[0] & of_b, b[1] & of_b};
    BNN_MMA_16X8("m16n8k32.row.col.s32.u8.u8.s32", "+r", c, x, y);
  }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  BNN_MMA_16X8("m16n8k256.row.col.s32.b1.b1.s32.and.popc", "+r", c, a, b);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  BNN_MMA_16X8("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "+r", c, a, b);
#elif defined(__CUDA_ARCH__)
  BNN_UNROLL
  for (int i = 0; i < 4; ++i) {  // rows of half i % 2, words of half i / 2
    asm volatile(
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(c[i % 2 * 2]), "+r"(c[i % 2 * 2 + 1])
        : "r"(a[i]), "r"(b[i / 2]));
  }
#elif !defined(__CUDACC__)
  if (NativeBitProduct() == BitProduct::kXor) return host_cuda::MultiplyXor(c, a, b);
  if (NativeBitProduct() == BitProduct::kAnd) return host_cuda::MultiplyAnd(c, a, b);
  for (int i = 0; i < 8; ++i) {
    const uint32_t of_a = 0x01010101u << i, of_b = 0x80808080u >> i;
    const uint32_t x[4] = {a[0] & of_a, a[1] & of_a, a[2] & of_a, a[3] & of_a};
    const uint32_t y[2] = {b[0] & of_b, b[1] & of_b};
    host_cuda::MultiplyBytes(c, x, y);
  }
#endif
}

// Returns a word of b as MultiplyBits takes it.
BNN_DEVICE uint32_t PrepareBits(uint32_t word) {
  if (NativeBitProduct() != BitProduct::kBytes) return word;
#if defined(__CUDA_ARCH__)
  return __byte_perm(__brev(word), 0, 0x0123);
#else
  word = (word >> 4 & 0x0f0f0f0fu) | (word & 0x0f0f0f0fu) << 4;
  word = (word >> 2 & 0x33333333u) | (word & 0x33333333u) << 2;
  return (word >> 1 & 0x55555555u) | (word & 0x55555555u) << 1;
#endif
}

// Returns the count that a sum of MultiplyBits stands for, at most 2^24.
BNN_DEVICE int CountOf(int sum) {
  if (NativeBitProduct() != BitProduct::kBytes) return sum;
  return static_cast<int>(static_cast<uint32_t>(sum) >> 7);  // 2^24 * 128 fills all 32 bits
}

// c[16][8] += the product of bytes a[16][32] and b[8][32].
BNN_DEVICE void MultiplyBytes(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  BNN_MMA_16X8("m16n8k32.row.col.s32.u8.u8.s32", "+r", c, a, b);
#elif !defined(__CUDACC__)
  host_cuda::MultiplyBytes(c, a, b);
#endif
}

// c[16][8] += the product of bfloat16 a[16][16] and b[8][16], sums in float32.
BNN_DEVICE void MultiplyBfloat(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  BNN_MMA_16X8("m16n8k16.row.col.f32.bf16.bf16.f32", "+f", c, a, b);
#elif !defined(__CUDACC__)
  host_cuda::MultiplyBfloat(c, a, b);
#endif
}

}  // namespace bnn::cuda

#endif  // BNN_BASE_CUDA_TENSOR_H_
