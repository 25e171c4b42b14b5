#include "ops/domain.h"

#include <memory>
#include <string>

#include "ops/create.h"
#include "ops/definitions.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

OrtCustomOpDomain* CreateDomain(const OpList& ops) {
  OrtCustomOpDomain* domain = nullptr;
  ort::Check(ort::GetApi().CreateCustomOpDomain("ai.bnndeploy", &domain));
  for (const ort::CustomOp* op : ops) {
    ort::Check(ort::GetApi().CustomOpDomain_Add(domain, reinterpret_cast<const OrtCustomOp*>(op)));
  }
  return domain;
}

}  // namespace

const OpList& OpsFor(const char* provider) {
  static std::vector<std::unique_ptr<ort::AdaptedOp>> adapted;
  static const OpList ops = [provider] {
    OpList list;
    const auto add = [&](const ort::OpDefinition& definition) {
      adapted.push_back(std::make_unique<ort::AdaptedOp>(definition, provider));
      list.push_back(adapted.back().get());
    };
#define BNN_OP(name) add(Define##name(Create##name));
#include "ops/ops.inc"
#undef BNN_OP
    return list;
  }();
  return ops;
}

OrtStatus* RegisterDomain(OrtSessionOptions* options, const OrtApiBase* ort_base,
                          OpList (*list)(const ort::ApiBase* base)) {
  try {
    const auto* base = reinterpret_cast<const ort::ApiBase*>(ort_base);
    ort::SetApi(base);
    static OrtCustomOpDomain* const domain = CreateDomain(list(base));
    ort::Check(ort::GetApi().AddCustomOpDomain(options, domain));
    return nullptr;
  } catch (const std::exception& error) {
    return ort::ErrorStatus(std::string("bnndeploy operator library: ") + error.what());
  }
}

}  // namespace bnn::ops
