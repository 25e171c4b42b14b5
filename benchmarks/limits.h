// What one core can do at most, measured with operands in registers or in the first-level cache.
#ifndef BNN_BENCHMARKS_LIMITS_H_
#define BNN_BENCHMARKS_LIMITS_H_

#include <cstdint>

namespace bnn {

// Multiply-accumulates per second of the instruction set's best loop: bits by bits, or float32 by
// codes. 0 where the machine lacks it.
double MacsPerSecond(uint32_t isa, bool bits);

}  // namespace bnn

#endif  // BNN_BENCHMARKS_LIMITS_H_
