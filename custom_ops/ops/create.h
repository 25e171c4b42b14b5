// How a node of each op creates its kernel: implemented once per library, in the folder of its
// execution provider.
#ifndef BNN_OPS_CREATE_H_
#define BNN_OPS_CREATE_H_

#include <memory>

#include "ort/adaptor.h"

namespace bnn::ops {

#define BNN_OP(name) std::unique_ptr<ort::Kernel> Create##name(const ort::Node& node);
#include "ops/ops.inc"
#undef BNN_OP

}  // namespace bnn::ops

#endif  // BNN_OPS_CREATE_H_
