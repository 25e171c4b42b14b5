// Ranges of attributes. They keep every product of sizes that is formed from attributes within
// int64, and every accumulator within int32.
#ifndef BNN_OPS_LIMITS_H_
#define BNN_OPS_LIMITS_H_

#include <cstdint>

namespace bnn::ops {

// Codes summed into one accumulator, and channels: float(acc) is exact up to here.
inline constexpr int64_t kMaxDepth = int64_t{1} << 24;

// Kernel sizes, strides, dilations and pads.
inline constexpr int64_t kMaxExtent = int64_t{1} << 16;

}  // namespace bnn::ops

#endif  // BNN_OPS_LIMITS_H_
