// Name, inputs, outputs and shape inference of every op, the same for all execution providers;
// `create` is what differs.
#ifndef BNN_OPS_DEFINITIONS_H_
#define BNN_OPS_DEFINITIONS_H_

#include "ort/adaptor.h"

namespace bnn::ops {

#define BNN_OP(name) ort::OpDefinition Define##name(ort::Creator create);
#include "ops/ops.inc"
#undef BNN_OP

}  // namespace bnn::ops

#endif  // BNN_OPS_DEFINITIONS_H_
