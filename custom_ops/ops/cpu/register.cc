// RegisterCustomOps: the entry point that ONNX Runtime looks up in an operator library.
#include <memory>
#include <string>
#include <vector>

#include "ops/cpu/cuda_library.h"
#include "ops/create.h"
#include "ops/definitions.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

constexpr const char* kDomain = "ai.bnndeploy";

void Add(OrtCustomOpDomain* domain, const ort::CustomOp* op) {
  ort::Check(ort::GetApi().CustomOpDomain_Add(domain, reinterpret_cast<const OrtCustomOp*>(op)));
}

// Returns the domain with all ops. It is built once and kept: sessions hold on to it.
OrtCustomOpDomain* Domain(const ort::ApiBase* base) {
  static std::vector<std::unique_ptr<ort::AdaptedOp>> adapted;
  static OrtCustomOpDomain* const domain = [base] {
    OrtCustomOpDomain* created = nullptr;
    ort::Check(ort::GetApi().CreateCustomOpDomain(kDomain, &created));
    const auto add = [created](const ort::OpDefinition& definition) {
      adapted.push_back(std::make_unique<ort::AdaptedOp>(definition, "CPUExecutionProvider"));
      Add(created, adapted.back().get());
    };
#define BNN_OP(name) add(Define##name(Create##name));
#include "ops/ops.inc"
#undef BNN_OP
    if (const CudaOpsFunction cuda = OpenCudaLibrary().ops) {
      size_t count = 0;
      const ort::CustomOp* const* ops = cuda(base, &count);
      for (size_t i = 0; i < count; ++i) Add(created, ops[i]);
    }
    return created;
  }();
  return domain;
}

}  // namespace
}  // namespace bnn::ops

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* ort_base) {
  using namespace bnn;
  try {
    const auto* base = reinterpret_cast<const ort::ApiBase*>(ort_base);
    ort::SetApi(base);
    ort::Check(ort::GetApi().AddCustomOpDomain(options, ops::Domain(base)));
    return nullptr;
  } catch (const std::exception& error) {
    return ort::ErrorStatus(std::string("bnndeploy operator library: ") + error.what());
  }
}
