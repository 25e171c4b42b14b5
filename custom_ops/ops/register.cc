// RegisterCustomOps: the entry point that ONNX Runtime looks up in an operator library.
#include <memory>
#include <string>
#include <vector>

#include "ort/adaptor.h"
#include "ort/error.h"

namespace bnn::ops {

#define BNN_OP(name) const ort::OpDefinition& name();
#include "ops/ops.inc"
#undef BNN_OP

namespace {

constexpr const char* kDomain = "ai.bnndeploy";

// Returns the domain with all ops. It is built once and kept: sessions hold on to it, and a domain
// may come from one library only, so ops of other providers have to be added here.
OrtCustomOpDomain* Domain() {
  static std::vector<std::unique_ptr<ort::AdaptedOp>> adapted;
  static OrtCustomOpDomain* const domain = [] {
    OrtCustomOpDomain* created = nullptr;
    ort::Check(ort::GetApi().CreateCustomOpDomain(kDomain, &created));
    const auto add = [created](const ort::OpDefinition& definition) {
      adapted.push_back(std::make_unique<ort::AdaptedOp>(definition));
      const ort::CustomOp* op = adapted.back().get();
      ort::Check(
          ort::GetApi().CustomOpDomain_Add(created, reinterpret_cast<const OrtCustomOp*>(op)));
    };
#define BNN_OP(name) add(name());
#include "ops/ops.inc"
#undef BNN_OP
    return created;
  }();
  return domain;
}

}  // namespace
}  // namespace bnn::ops

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  using namespace bnn;
  try {
    ort::SetApi(reinterpret_cast<const ort::ApiBase*>(base));
    ort::Check(ort::GetApi().AddCustomOpDomain(options, ops::Domain()));
    return nullptr;
  } catch (const std::exception& error) {
    return ort::ErrorStatus(std::string("bnndeploy operator library: ") + error.what());
  }
}
