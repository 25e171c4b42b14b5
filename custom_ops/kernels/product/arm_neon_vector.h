// Four 32-bit lanes, as vector_finish.h wants them. Needs the base of AArch64 only.
#ifndef BNN_KERNELS_PRODUCT_ARM_NEON_VECTOR_H_
#define BNN_KERNELS_PRODUCT_ARM_NEON_VECTOR_H_

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "base/arm_neon_masks.h"

namespace bnn::product {
namespace {

struct V4 {
  static constexpr int kLanes = 4;
  using Float = float32x4_t;
  using Int = uint32x4_t;
  using Mask = uint32x4_t;  // all ones or all zeros a lane

  // Masks wait until the word is whole: narrowing eight of them at once takes 12 instructions,
  // one at a time 4 each.
  class Bits {
   public:
    void Add(int lane, Mask m) { masks_[lane / kLanes] = m; }
    uint32_t Word() const { return neon::Word(masks_); }

   private:
    Mask masks_[8] = {};
  };

  static int32x4_t LoadInts(const int32_t* p) { return vld1q_s32(p); }
  static Mask GreaterEqualInts(const int32_t* p, int32x4_t least) {
    return vcgeq_s32(vld1q_s32(p), least);
  }
  static Mask GreaterEqualInts(const float*, int32x4_t) { return ZeroWords(); }  // never called
  static Float FromSums(const int32_t* p) { return vcvtq_f32_s32(vld1q_s32(p)); }
  static Float FromSums(const float* p) { return Load(p); }
  static Float Load(const float* p) { return vld1q_f32(p); }
  static Float Zero() { return vdupq_n_f32(0.0f); }
  static Float Broadcast(float v) { return vdupq_n_f32(v); }
  // Second operand where either is NaN; FMAX would return NaN.
  static Float Max(Float a, Float b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static Float Ceil(Float v) { return vrndpq_f32(v); }
  static void StoreInts(int32_t* p, Float v) { vst1q_s32(p, vcvtnq_s32_f32(v)); }
  static Float Mul(Float a, Float b) { return vmulq_f32(a, b); }
  static Float Add(Float a, Float b) { return vaddq_f32(a, b); }
  static Float Sub(Float a, Float b) { return vsubq_f32(a, b); }
  static Mask GreaterEqual(Float a, Float b) { return vcgeq_f32(a, b); }
  static Float Select(Mask m, Float yes, Float no) { return vbslq_f32(m, yes, no); }
  static Float MulAdd(Float a, Float b, Float c) { return vfmaq_f32(c, a, b); }
  static Mask FromBits(uint32_t bits) {
    const uint32x4_t lane = {1, 2, 4, 8};
    return vtstq_u32(vdupq_n_u32(bits), lane);
  }
  static void Store(float* p, Float v) { vst1q_f32(p, v); }

  // First `count` lanes only; the others read as 0 and are not written.
  static Float LoadPart(const float* p, int count) {
    if (count == kLanes) return Load(p);
    float lanes[kLanes] = {};
    std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(float));
    return Load(lanes);
  }
  static void StorePart(float* p, int count, Float v) {
    if (count == kLanes) return Store(p, v);
    float lanes[kLanes];
    Store(lanes, v);
    std::memcpy(p, lanes, static_cast<size_t>(count) * sizeof(float));
  }
  static Float LoadPart(const uint16_t* p, int count) {
    uint16_t halves[kLanes] = {};
    std::memcpy(halves, p, static_cast<size_t>(count) * sizeof(uint16_t));
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves)));
  }
  static void StorePart(uint16_t* p, int count, Float v) {
    uint16_t halves[kLanes];
    vst1_u16(halves, vreinterpret_u16_f16(vcvt_f16_f32(v)));
    std::memcpy(p, halves, static_cast<size_t>(count) * sizeof(uint16_t));
  }
  static Float RoundToHalf(Float v) { return vcvt_f32_f16(vcvt_f16_f32(v)); }

  // words |= bit where m.
  static Int OrBit(Int words, Mask m, uint32_t bit) {
    return vorrq_u32(words, vandq_u32(m, vdupq_n_u32(bit)));
  }
  static Int ZeroWords() { return vdupq_n_u32(0); }
  static void StoreWords(uint32_t* p, Int v) { vst1q_u32(p, v); }

  // rows[i] lane j becomes rows[j] lane i: 32-bit pairs, then 64-bit pairs.
  static void Transpose(Float* rows) {
    const float64x2_t low[2] = {Pairs(vtrn1q_f32(rows[0], rows[1])),
                                Pairs(vtrn1q_f32(rows[2], rows[3]))};
    const float64x2_t high[2] = {Pairs(vtrn2q_f32(rows[0], rows[1])),
                                 Pairs(vtrn2q_f32(rows[2], rows[3]))};
    rows[0] = vreinterpretq_f32_f64(vtrn1q_f64(low[0], low[1]));
    rows[1] = vreinterpretq_f32_f64(vtrn1q_f64(high[0], high[1]));
    rows[2] = vreinterpretq_f32_f64(vtrn2q_f64(low[0], low[1]));
    rows[3] = vreinterpretq_f32_f64(vtrn2q_f64(high[0], high[1]));
  }

 private:
  static float64x2_t Pairs(Float v) { return vreinterpretq_f64_f32(v); }
};

}  // namespace
}  // namespace bnn::product

#endif  // BNN_KERNELS_PRODUCT_ARM_NEON_VECTOR_H_
