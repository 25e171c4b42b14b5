#include "kernels/pack_bits/pack_bits.h"

namespace bnn {

PackBitsKernel SelectPackBits(uint32_t isa) {
#define BNN_KERNEL(needed, variant) \
  if (cpu::Has(needed, isa)) return {#variant, pack_bits_f32_##variant, pack_bits_f16_##variant};
#include "kernels/pack_bits/kernels.inc"
#undef BNN_KERNEL
  return {"none", nullptr, nullptr};  // not reached: the list ends with the scalar variant
}

}  // namespace bnn
