#include "runner/session.h"

#include <dlfcn.h>

#include <stdexcept>

#include "ort/abi.h"

extern "C" {
struct OrtEnv;
struct OrtSession;
struct OrtRunOptions;
struct OrtMemoryInfo;
}

namespace bnn::runner {
namespace {

constexpr int kLogWarnings = 2;
constexpr int kArenaAllocator = 1;

// The functions of slots.inc, picked out of OrtApi's table.
struct Api {
#define BNN_ORT_SLOT(index, name, result, ...) result (*name)(__VA_ARGS__);
#include "runner/slots.inc"
#undef BNN_ORT_SLOT

  explicit Api(const void* const* table) {
#define BNN_ORT_SLOT(index, name, result, ...) \
  name = reinterpret_cast<result (*)(__VA_ARGS__)>(const_cast<void*>(table[index]));
#include "runner/slots.inc"
#undef BNN_ORT_SLOT
  }

  void Check(OrtStatus* status, const std::string& subject) const {
    if (status == nullptr) return;
    const std::string message = GetErrorMessage(status);
    ReleaseStatus(status);
    throw std::runtime_error(subject + ": " + message);
  }
};

void* Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

template <typename Function>
Function Find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function>(found);
}

const void* const* Table(const ort::ApiBase* base) {
  const void* const* table = base->GetApi(ort::kApiVersion);
  if (table == nullptr) {
    throw std::runtime_error(std::string("onnxruntime ") + base->GetVersionString() +
                             ": is too old; expected 1.23 or later");
  }
  return table;
}

}  // namespace

struct Session::State {
  explicit State(const ort::ApiBase* found) : base(found), api(Table(found)) {}
  ~State() {
    if (session != nullptr) api.ReleaseSession(session);
    if (options != nullptr) api.ReleaseSessionOptions(options);
    if (memory != nullptr) api.ReleaseMemoryInfo(memory);
    if (env != nullptr) api.ReleaseEnv(env);
  }

  const ort::ApiBase* base;
  Api api;
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;
  char* input_name = nullptr;  // the two names live as long as the process
  char* output_name = nullptr;
};

Session::Session(const std::string& onnxruntime, const std::string& operators,
                 const std::string& model, int threads) {
  const auto get_base = Find<const ort::ApiBase* (*)()>(Open(onnxruntime), "OrtGetApiBase");
  const auto register_ops = Find<OrtStatus* (*)(OrtSessionOptions*, const ort::ApiBase*)>(
      Open(operators), "RegisterCustomOps");
  state_ = std::make_unique<State>(get_base());
  State& s = *state_;
  s.api.Check(s.api.CreateEnv(kLogWarnings, "bnndeploy", &s.env), "onnxruntime");
  s.api.Check(s.api.CreateSessionOptions(&s.options), "onnxruntime");
  s.api.Check(s.api.SetIntraOpNumThreads(s.options, threads), "threads");
  s.api.Check(register_ops(s.options, s.base), operators);
  s.api.Check(s.api.CreateSession(s.env, model.c_str(), s.options, &s.session), model);
  s.api.Check(s.api.CreateCpuMemoryInfo(kArenaAllocator, ort::kMemoryDefault, &s.memory), "memory");
  OrtAllocator* allocator = nullptr;
  s.api.Check(s.api.GetAllocatorWithDefaultOptions(&allocator), "memory");
  s.api.Check(s.api.SessionGetInputName(s.session, 0, allocator, &s.input_name), model);
  s.api.Check(s.api.SessionGetOutputName(s.session, 0, allocator, &s.output_name), model);
}

Session::~Session() = default;

std::vector<float> Session::Run(std::vector<float>& input, const std::vector<int64_t>& shape) {
  const State& s = *state_;
  std::vector<int64_t> dims = {1};
  dims.insert(dims.end(), shape.begin(), shape.end());
  OrtValue* x = nullptr;
  s.api.Check(s.api.CreateTensorWithDataAsOrtValue(
                  s.memory, input.data(), input.size() * sizeof(float), dims.data(), dims.size(),
                  static_cast<int>(ort::Type::kFloat), &x),
              "input");
  OrtValue* y = nullptr;
  OrtStatus* status = s.api.Run(s.session, nullptr, &s.input_name, &x, 1, &s.output_name, 1, &y);
  s.api.ReleaseValue(x);
  s.api.Check(status, "model");
  const std::unique_ptr<OrtValue, void (*)(OrtValue*)> owned(y, s.api.ReleaseValue);

  OrtTensorTypeAndShapeInfo* info = nullptr;
  s.api.Check(s.api.GetTensorTypeAndShape(y, &info), "output");
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> owned_info(
      info, s.api.ReleaseTensorTypeAndShapeInfo);
  int type = 0;
  size_t count = 0;
  s.api.Check(s.api.GetTensorElementType(info, &type), "output");
  s.api.Check(s.api.GetTensorShapeElementCount(info, &count), "output");
  if (type != static_cast<int>(ort::Type::kFloat)) {
    throw std::runtime_error("output: expected float32, got ONNX type " + std::to_string(type));
  }
  void* data = nullptr;
  s.api.Check(s.api.GetTensorMutableData(y, &data), "output");
  const auto* values = static_cast<const float*>(data);
  return {values, values + count};
}

}  // namespace bnn::runner
