#include "kernels/ternary/ternary.h"

namespace bnn {

TernaryKernel SelectTernary(uint32_t isa) {
#define BNN_KERNEL(needed, variant) \
  if (cpu::Has(needed, isa)) return {#variant, ternary_f32_##variant, ternary_f16_##variant};
#include "kernels/ternary/kernels.inc"
#undef BNN_KERNEL
  return {"none", nullptr, nullptr};  // not reached: the list ends with the scalar variant
}

}  // namespace bnn
