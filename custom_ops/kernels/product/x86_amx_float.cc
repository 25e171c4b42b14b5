// AMX bf16: real-valued X in three exact parts, times codes that are exact as well.
//
// What is rounded is the sum alone, in float32 as in a float32 product. Weights stay bits in
// memory.
#include "kernels/product/x86_amx_float_multiply.h"

namespace bnn::product {
namespace {
namespace amx_float {

bool Fits(const Shape& s) { return s.x != Element::kBits; }

bool PacksWords(const Shape& s) { return !Joins(s); }

bool NeverDirect(const Shape&) { return false; }

// ---- weights: [strip][step][plane][kStrip] words, bit i for channel i of the step ----

size_t PackedBytes(const Shape& s) {
  return static_cast<size_t>(Strips(s) * Steps(s) * Planes(s) * kStrip) * sizeof(uint32_t);
}

// Word `step` of a filter: 32 channels of one tap or, where taps are joined, of several.
uint32_t StepWord(const Shape& s, const uint32_t* words, int64_t plane, int64_t channel,
                  int64_t step) {
  if (!Joins(s)) {
    const uint32_t* tap = TapWords(s, words, plane, channel, step / GroupWords(s));
    return MaskedWord(tap, step % GroupWords(s), GroupChannels(s));
  }
  uint32_t word = 0;
  const int64_t length = GroupChannels(s);
  const int64_t end = std::min((step + 1) * kDepth, Taps(s) * length);
  for (int64_t d = step * kDepth; d < end; ++d) {
    const uint32_t* tap = TapWords(s, words, plane, channel, d / length);
    word |= (tap[0] >> (d % length) & 1u) << (d % kDepth);
  }
  return word;
}

void Pack(const Shape& s, const uint32_t* words, uint8_t* packed) {
  std::memset(packed, 0, PackedBytes(s));
  auto* out = reinterpret_cast<uint32_t*>(packed);
  for (int64_t index = 0; index < Strips(s); ++index) {
    const Strip strip = StripAt(s, index);
    for (int64_t step = 0; step < Steps(s); ++step) {
      for (int64_t plane = 0; plane < Planes(s); ++plane, out += kStrip) {
        for (int64_t lane = 0; lane < strip.count; ++lane) {
          out[lane] = StepWord(s, words, plane, strip.first + lane, step);
        }
      }
    }
  }
}

// Taps that are joined are read one by one, which takes as long as this many products of a word.
constexpr double kJoinWords = 5.4;

double CostWords(const Shape& s) {
  const auto words = static_cast<double>(Strips(s) * Planes(s));
  return static_cast<double>(Steps(s)) * (Joins(s) ? words + kJoinWords : words);
}

template <Codes codes>
void MultiplyCodes(const Block& b) {
  if (Parts(*b.shape) == 2) {
    Multiplier<codes, 2>(b).Run();
  } else {
    Multiplier<codes, 3>(b).Run();
  }
}

void Multiply(const Block& b) {
  switch (b.shape->codes) {
    case Codes::kBinary:
      return MultiplyCodes<Codes::kBinary>(b);
    case Codes::kTernaryEqual:
      return MultiplyCodes<Codes::kTernaryEqual>(b);
    case Codes::kTernary:
      return MultiplyCodes<Codes::kTernary>(b);
  }
}

}  // namespace amx_float
}  // namespace

const Variant float_amx = {
    "float_amx",
    amx_float::Fits,
    amx_float::RowBytes,
    amx_float::NeverDirect,
    amx_float::Expand,
    amx_float::Fill,
    amx_float::PackedBytes,
    amx_float::Pack,
    amx_float::UnitBytes,
    64,
    {16, 980.0, 22.0, 3.7, 9.6, 8.4},
    amx_float::Multiply,
    amx_float::Joins,
    amx_float::PacksWords,
    nullptr,
    amx_float::CostWords,
};

}  // namespace bnn::product
