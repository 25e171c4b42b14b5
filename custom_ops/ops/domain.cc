#include "ops/domain.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ops/create.h"
#include "ops/definitions.h"
#include "ort/error.h"

namespace bnn::ops {
namespace {

constexpr const char* kThreadsEntry = "bnndeploy.threads";
constexpr int kMostThreads = 1024;

int SessionThreads(const OrtSessionOptions* options) {
  int has = 0;
  ort::Check(ort::GetApi().HasSessionConfigEntry(options, kThreadsEntry, &has));
  if (has == 0) return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  char value[16] = {};
  size_t size = sizeof value;
  ort::Check(ort::GetApi().GetSessionConfigEntry(options, kThreadsEntry, value, &size));
  char* end = nullptr;
  const long threads = std::strtol(value, &end, 10);
  if (end == value || *end != '\0' || threads < 1 || threads > kMostThreads) {
    ort::Fail(std::string("session entry ") + kThreadsEntry, value, "a number from 1 to 1024");
  }
  return static_cast<int>(threads);
}

OrtCustomOpDomain* CreateDomain(const OpList& ops) {
  OrtCustomOpDomain* domain = nullptr;
  ort::Check(ort::GetApi().CreateCustomOpDomain("ai.bnndeploy", &domain));
  for (const ort::CustomOp* op : ops) {
    ort::Check(ort::GetApi().CustomOpDomain_Add(domain, reinterpret_cast<const OrtCustomOp*>(op)));
  }
  return domain;
}

}  // namespace

const OpList& OpsFor(const char* provider, int threads) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<ort::AdaptedOp>> adapted;
  static std::map<int, OpList> lists;
  const std::lock_guard<std::mutex> lock(mutex);
  OpList& list = lists[threads];
  if (!list.empty()) return list;
  const auto add = [&](const ort::OpDefinition& definition) {
    adapted.push_back(std::make_unique<ort::AdaptedOp>(definition, provider, threads));
    list.push_back(adapted.back().get());
  };
#define BNN_OP(name) add(Define##name(Create##name));
#include "ops/ops.inc"
#undef BNN_OP
  return list;
}

OrtStatus* RegisterDomain(OrtSessionOptions* options, const OrtApiBase* ort_base,
                          OpList (*list)(const ort::ApiBase* base, int threads)) {
  try {
    const auto* base = reinterpret_cast<const ort::ApiBase*>(ort_base);
    ort::SetApi(base);
    const int threads = SessionThreads(options);
    static std::mutex mutex;
    static std::map<int, OrtCustomOpDomain*> domains;
    const std::lock_guard<std::mutex> lock(mutex);
    OrtCustomOpDomain*& domain = domains[threads];
    if (domain == nullptr) domain = CreateDomain(list(base, threads));
    ort::Check(ort::GetApi().AddCustomOpDomain(options, domain));
    return nullptr;
  } catch (const std::exception& error) {
    return ort::ErrorStatus(std::string("bnndeploy operator library: ") + error.what());
  }
}

}  // namespace bnn::ops
