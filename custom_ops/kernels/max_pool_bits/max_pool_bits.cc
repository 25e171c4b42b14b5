#include "kernels/max_pool_bits/max_pool_bits.h"

namespace bnn {

MaxPoolBitsKernel SelectMaxPoolBits(uint32_t isa) {
#define BNN_KERNEL(needed, variant) \
  if (cpu::Has(needed, isa)) return {#variant, max_pool_bits_##variant};
#include "kernels/max_pool_bits/kernels.inc"
#undef BNN_KERNEL
  return {"none", nullptr};  // not reached: the list ends with the scalar variant
}

}  // namespace bnn
