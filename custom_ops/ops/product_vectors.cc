#include "ops/product_vectors.h"

namespace bnn::ops {

ProductVectors::ProductVectors(const ort::Node& node, const ProductInputs& inputs,
                               WeightKind weights)
    : scale_(node, inputs.scale),
      bias_(node, inputs.bias),
      slope_(node, inputs.slope),
      shift_(node, inputs.shift),
      threshold_(node, inputs.threshold) {
  if (weights == WeightKind::kBinary) return;
  w_pos_.emplace(node, ProductInputs::kWPos);
  w_neg_.emplace(node, ProductInputs::kWNeg);
}

void ProductVectors::CheckConstants(int64_t channels) const {
  for (const ChannelVector* vector : {&scale_, &bias_, &slope_, &shift_, &threshold_}) {
    vector->Constant(channels);
  }
  if (w_pos_) w_pos_->Constant(channels);
  if (w_neg_) w_neg_->Constant(channels);
}

std::optional<std::pair<product::Vector, product::Vector>> ProductVectors::ConstantScales(
    int64_t channels) const {
  if (!w_pos_) return std::nullopt;
  const auto w_pos = w_pos_->Constant(channels), w_neg = w_neg_->Constant(channels);
  if (!w_pos || !w_neg) return std::nullopt;
  return std::make_pair(*w_pos, *w_neg);
}

void ProductVectors::Read(const ort::Run& run, int64_t channels,
                          product::Epilogue* epilogue) const {
  epilogue->scale = scale_.Read(run, channels);
  epilogue->bias = bias_.Read(run, channels);
  epilogue->slope = slope_.Read(run, channels);
  epilogue->shift = shift_.Read(run, channels);
  epilogue->threshold = threshold_.Read(run, channels);
  if (w_pos_) epilogue->w_pos = w_pos_->Read(run, channels);
  if (w_neg_) epilogue->w_neg = w_neg_->Read(run, channels);
}

}  // namespace bnn::ops
