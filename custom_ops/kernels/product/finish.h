// The last steps of every product: from sums of codes to Y and Ybits.
#ifndef BNN_KERNELS_PRODUCT_FINISH_H_
#define BNN_KERNELS_PRODUCT_FINISH_H_

#include "kernels/product/gather.h"

namespace bnn::product {

// Where the outputs of one position lie: channel c of Y is element first + c*channel_step, word w
// of Ybits is element words + w.
struct Output {
  int64_t first, channel_step, words;
};

static inline Output OutputAt(const Block& b, int64_t position) {
  const int64_t area = b.plan->out_h * b.plan->out_w;
  const int64_t index = OutputPosition(b, position);
  return {index / area * b.shape->out_channels * area + index % area, area,
          index * bits::WordCount(b.shape->out_channels)};
}

// Tells whether the position is an output; the others fill up the lines.
static inline bool IsOutput(const Plan& plan, int64_t position) {
  return position % plan.pitch < plan.valid;
}

// The first step for two sums: P*w_pos - N*w_neg.
static inline float Scaled(const Epilogue& e, int64_t channel, float positive, float negative) {
  const float p = positive * e.w_pos.data[channel * e.w_pos.stride];
  const float n = negative * e.w_neg.data[channel * e.w_neg.stride];
  return p - n;
}

// Applies the epilogue to acc[0 ... strip.count - 1] of one position and stores what is wanted.
// Codes::kTernaryEqual: acc = float(P - N)*w_pos, which Scaled(P, N) equals.
void Finish(const Block& b, const Strip& strip, int64_t position, const float* acc);

// Converts `count` elements of residual or Y to floats.
void LoadReals(Element type, const void* data, int64_t count, float* values);

// Writes the bits of a strip, lowest first, of one position.
void StoreBits(const Block& b, const Strip& strip, int64_t words, uint32_t bits);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_FINISH_H_
