// The four products XnorGemm, XnorConv, TernaryGemm and TernaryConv behind one contract.
//
// A matrix product is the convolution of M images of 1 x 1 pixels with a 1 x 1 kernel, so one Shape
// describes all four; formulas and layouts are in docs/operators.md and docs/bit_layout.md.
// Nothing here allocates, throws or knows ONNX Runtime. A caller
//   1. selects a Product when the node is created and packs the weights into its own memory,
//   2. plans each call: what to run, how much scratch memory it takes,
//   3. runs the phases of the plan in order, the units of a phase in any order on any threads.
#ifndef BNN_KERNELS_PRODUCT_PRODUCT_H_
#define BNN_KERNELS_PRODUCT_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace bnn::product {

struct Variant;  // variant.h

enum class Element : uint8_t { kBits, kFloat32, kFloat16 };

// kTernaryEqual promises EqualScales(w_pos, w_neg): one sum then serves both planes.
enum class Codes : uint8_t { kBinary, kTernary, kTernaryEqual };

// What is known when the node is created. The caller has checked it: sizes positive, strides and
// dilations positive, pads not negative, pad_value -1, 0 or 1, channels and out_channels divisible
// by group, with bits and group > 1 also channels / group divisible by 32, and at most 2^24 codes
// a filter. A matrix product keeps the defaults, channels = K and out_channels = N.
struct Shape {
  Element x = Element::kBits;     // type of X
  Element y = Element::kFloat32;  // type of residual and Y; of X too unless X is bits
  Codes codes = Codes::kBinary;
  int64_t channels = 1;
  int64_t out_channels = 1;
  int64_t group = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int pad_value = 0;
};

// A float32 vector of one element (stride 0) or of one per output channel (stride 1).
struct Vector {
  const float* data;
  int64_t stride;
};

// v = max(float(acc), acc_min); v*scale; + bias; + residual; v < 0: v*slope; + shift; rounded to Y.
// Then bit = Y >= threshold. Each step is rounded on its own, NaN stays NaN.
struct Epilogue {
  float acc_min;
  Vector scale, bias, slope, shift, threshold;
  Vector w_pos, w_neg;      // Codes::kTernary*: acc = P*w_pos - N*w_neg; else not read
  const void* residual;     // [1] or as Y, of type Shape::y
  int64_t residual_stride;  // 0 for one element, else 1
};

// One call. Matrix product: batch = M, height = width = 1. Kernels read exactly
// batch*height*width*ceil(channels/32) words or batch*channels*height*width floats of X, whatever
// its pad bits hold. Any address will do that suits the element type.
struct Call {
  const void* x;       // bits [batch, height, width, words] or floats [batch, channels, h, w]
  const void* packed;  // what Pack wrote, aligned to kAlignment
  void* y;             // [batch, out_channels, out_h, out_w], or null if not wanted
  uint32_t* ybits;     // [batch, out_h, out_w, ceil(out_channels/32)], or null
  void* scratch;       // Plan::scratch_bytes, aligned to kAlignment; contents do not matter
  Epilogue epilogue;
};

inline constexpr size_t kAlignment = 64;
inline constexpr int kMaxPhases = 2;

// What one call runs; all but the first three members is for the kernels themselves (plan.cc).
//
// An item is one image, or, where the output is 1 x 1, a block of images. Its pixels are gathered
// as rows, one row of all channels a pixel, so that each kernel tap (ky, kx) reads, for output
// position p of the item, row p + ky*tap_step_y + kx*tap_step_x. Positions run along lines of
// `pitch` rows of which the first `valid` are outputs.
struct Plan {
  int phases = 0;  // 0 when there is nothing to compute, as for an empty batch
  int64_t units[kMaxPhases] = {0, 0};
  size_t scratch_bytes = 0;

  const Variant* variant = nullptr;
  size_t packed_offset = 0;  // of this variant's weights
  int64_t batch = 0, height = 0, width = 0, out_h = 0, out_w = 0;
  int64_t items = 0, images = 1;  // images of an item (of the last one: what is left)
  int64_t pitch = 0, valid = 0, lines = 0;
  bool split_y = false, split_x = false;  // one copy of the rows per ky, per kx
  int64_t tap_step_y = 0, tap_step_x = 0;
  int64_t rows = 0, positions = 0;
  bool direct = false;       // X itself serves as the rows
  bool whole_items = false;  // one phase, a unit gathers and multiplies whole items
  int64_t position_parts = 1, strip_parts = 1;
  size_t rows_bytes = 0, unit_bytes = 0;
};

// Returns the output height or width, 0 when the kernel does not fit into the padded input.
int64_t OutputExtent(int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t pad_begin, int64_t pad_end);

// Tells whether w_pos[o] == w_neg[o] for every channel and each is a power of two of moderate size,
// so that P*w_pos - N*w_neg rounds to the same float as (P - N)*w_pos.
bool EqualScales(Vector w_pos, Vector w_neg, int64_t out_channels);

// The kernels chosen for one node: one for many output positions and, where another is faster for
// few of them (a matrix product with a small M), that one too.
class Product {
 public:
  // Chooses among the variants that `isa` (a mask of cpu.h) allows.
  static Product Select(const Shape& shape, uint32_t isa);

  // Uses one variant for every call: for tests and benchmarks.
  static Product Only(const Shape& shape, const Variant& variant);

  // Name of the variant for many positions, e.g. "bits_amx"; PlanCall tells what a call uses.
  const char* name() const;

  // Name of the variant for calls of at most few_positions() output positions, "" if none.
  const char* few_name() const;
  int64_t few_positions() const { return few_positions_; }

  // Bytes that Pack writes.
  size_t packed_bytes() const;

  // Rearranges the canonical words [O, kh, kw, words], ternary [2, O, kh, kw, words]. Pad bits of
  // the words are ignored. `packed` is aligned to kAlignment.
  void Pack(const uint32_t* words, void* packed) const;

  // Plans a call on `threads` threads. Batch, height or width may be 0.
  Plan PlanCall(int64_t batch, int64_t height, int64_t width, int threads) const;

  // Runs one unit of one phase. Reentrant: units of one phase share no memory that they write.
  void Run(const Plan& plan, const Call& call, int phase, int64_t unit) const;

  const Shape& shape() const { return shape_; }

 private:
  // Where the weights of `few_` begin: behind those of `many_` or, where both are alike, with them.
  size_t FewOffset() const;

  Shape shape_;
  const Variant* many_ = nullptr;
  const Variant* few_ = nullptr;  // null: `many_` serves every call
  int64_t few_positions_ = 0;     // the largest count that goes to `few_`
};

// Name of the variant that a plan uses, for reports.
const char* VariantName(const Plan& plan);

}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_PRODUCT_H_
