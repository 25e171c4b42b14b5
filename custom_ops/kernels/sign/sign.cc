#include "kernels/sign/sign.h"

namespace bnn {

SignKernel SelectSign(uint32_t isa) {
#define BNN_KERNEL(needed, variant) \
  if (cpu::Has(needed, isa)) return {#variant, sign_f32_##variant, sign_f16_##variant};
#include "kernels/sign/kernels.inc"
#undef BNN_KERNEL
  return {"none", nullptr, nullptr};  // not reached: the list ends with the scalar variant
}

}  // namespace bnn
