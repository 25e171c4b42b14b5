#include "ops/product_weights.h"

#include <string>

#include "base/bits.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

int64_t RowBits(const product::Shape& s) { return s.channels / s.group; }
int64_t Rows(const product::Shape& s) { return s.out_channels * s.kernel_h * s.kernel_w; }

void CheckTernaryCodes(const product::Shape& s, const uint32_t* words) {
  const int64_t row_words = bits::WordCount(RowBits(s));
  const int64_t plane = Rows(s) * row_words;
  for (int64_t i = 0; i < plane; ++i) {
    if ((words[i] & words[plane + i]) == 0) continue;
    ort::Fail("input W",
              "a bit set in both planes (word " + std::to_string(i % row_words) + " of row " +
                  std::to_string(i / row_words) + ")",
              "codes that are +1 (plane 0) or -1 (plane 1) or neither");
  }
}

}  // namespace

void CheckWeights(const product::Shape& s, const uint32_t* words) {
  const int64_t planes = s.codes == product::Codes::kBinary ? 1 : 2;
  const int64_t row_words = bits::WordCount(RowBits(s));
  const uint32_t pads = ~bits::LastWordMask(RowBits(s));
  for (int64_t row = 0; row < planes * Rows(s); ++row) {
    if ((words[row * row_words + row_words - 1] & pads) == 0) continue;
    ort::Fail("input W", "a pad bit set in row " + std::to_string(row),
              "0 in every bit beyond " + std::to_string(RowBits(s)));
  }
  if (planes == 2) CheckTernaryCodes(s, words);
}

}  // namespace bnn::ops
