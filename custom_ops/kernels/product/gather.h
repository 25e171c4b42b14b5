// Rows of an item: where they lie, how they are filled, and which output a position is.
#ifndef BNN_KERNELS_PRODUCT_GATHER_H_
#define BNN_KERNELS_PRODUCT_GATHER_H_

#include <algorithm>

#include "kernels/product/variant.h"

namespace bnn::product {

// Images of an item; only the last block of images can be short.
static inline int64_t ItemImages(const Plan& plan, int64_t item) {
  return std::min(plan.images, plan.batch - item * plan.images);
}

// Positions of an item, those past the end of a line included.
static inline int64_t ItemPositions(const Plan& plan, int64_t item) {
  return plan.out_h * plan.out_w == 1 ? ItemImages(plan, item) : plan.positions;
}

// Index of a valid position among the outputs of one channel, [batch, out_h, out_w].
static inline int64_t OutputPosition(const Block& b, int64_t position) {
  const Plan& plan = *b.plan;
  return b.item * plan.images * plan.out_h * plan.out_w + position / plan.pitch * plan.valid +
         position % plan.pitch;
}

// Returns the rows of an item: in `scratch`, or X itself.
Rows ItemRows(const Shape& shape, const Plan& plan, const Call& call, int64_t item,
              uint8_t* scratch);

// Fills part `part` of `parts` of the rows of an item; nothing to do when X itself is the rows.
void Gather(const Shape& shape, const Plan& plan, const Call& call, int64_t item, int64_t part,
            int64_t parts, Rows rows);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_GATHER_H_
