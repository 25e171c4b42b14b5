// Which instruction sets the kernels of a new session may use.
#ifndef BNN_OPS_CPU_ALLOWED_ISA_H_
#define BNN_OPS_CPU_ALLOWED_ISA_H_

#include <cstdint>

namespace bnn::ops {

// Returns the instruction sets of the machine that BNNDEPLOY_ISA leaves; throws if it names none.
uint32_t AllowedIsa();

}  // namespace bnn::ops

#endif  // BNN_OPS_CPU_ALLOWED_ISA_H_
