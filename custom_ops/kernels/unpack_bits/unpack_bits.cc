#include "kernels/unpack_bits/unpack_bits.h"

namespace bnn {

UnpackBitsKernel SelectUnpackBits(uint32_t isa) {
#define BNN_KERNEL(needed, variant) \
  if (cpu::Has(needed, isa)) return {#variant, unpack_bits_f32_##variant};
#include "kernels/unpack_bits/kernels.inc"
#undef BNN_KERNEL
  return {"none", nullptr};  // not reached: the list ends with the scalar variant
}

}  // namespace bnn
