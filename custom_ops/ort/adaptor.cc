#include "ort/adaptor.h"

#include <mutex>
#include <optional>
#include <string>

#include "ort/error.h"

namespace bnn::ort {
namespace {

// Known even where the table is too old for us, so that we can say so.
decltype(Api::CreateStatus) create_status = nullptr;
std::optional<Api> api;
std::once_flag api_set;

// What ONNX Runtime holds for a node: the kernel and how to speak about it.
struct Instance {
  const OpDefinition* definition;
  std::string name;
  std::unique_ptr<Kernel> kernel;
};

const OpDefinition& Definition(const CustomOp* op) {
  return static_cast<const AdaptedOp*>(op)->definition;
}

OrtStatus* NodeError(const OpDefinition& definition, const std::string& node, const char* what) {
  return ErrorStatus(std::string(definition.name) + " node '" + node + "': " + what);
}

// Runs `body`; no exception may cross into ONNX Runtime.
template <typename Body>
OrtStatus* Guard(const OpDefinition& definition, const std::string& node, const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    return NodeError(definition, node, error.what());
  } catch (...) {
    return NodeError(definition, node, "unknown failure");
  }
}

// An output of several may be unnamed, that is '', but must be listed: ONNX Runtime before 1.28
// writes beyond its own list when shape inference states an output that a node does not list. Only
// "variadic, at least one" says "listed", and it also allows more, which Create refuses.
int OutputCharacteristic(const CustomOp* op, size_t index) {
  const size_t count = Definition(op).outputs.size();
  if (count == 1) return kInputOutputRequired;
  return index + 1 == count ? kInputOutputVariadic : kInputOutputOptional;
}

OrtStatus* Create(const CustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
  const OpDefinition& definition = Definition(op);
  const std::string name = NodeName(info);
  return Guard(definition, name, [&] {
    const Node node(info, definition, static_cast<const AdaptedOp*>(op)->threads);
    node.CheckOutputCount();
    auto instance = std::make_unique<Instance>();
    instance->definition = &definition;
    instance->name = name;
    instance->kernel = definition.create(node);
    *kernel = instance.release();
  });
}

OrtStatus* Compute(void* kernel, OrtKernelContext* context) {
  const Instance& instance = *static_cast<const Instance*>(kernel);
  return Guard(*instance.definition, instance.name,
               [&] { instance.kernel->Compute(Run(context, *instance.definition)); });
}

OrtStatus* Infer(const CustomOp* op, OrtShapeInferContext* context) {
  return Guard(Definition(op), "", [&] { Definition(op).infer(Inference(context)); });
}

}  // namespace

const Api& GetApi() {
  if (!api) throw Error("ONNX Runtime's function table is not set");
  return *api;
}

void SetApi(const ApiBase* base) {
  std::call_once(api_set, [base] {
    if (const void* const* oldest = base->GetApi(1)) {
      create_status = reinterpret_cast<decltype(create_status)>(const_cast<void*>(oldest[0]));
    }
    const void* const* table = base->GetApi(kApiVersion);
    if (table == nullptr) {
      throw Error(std::string("got ONNX Runtime ") + base->GetVersionString() +
                  ", expected one with API version 18, such as 1.23 or later");
    }
    api.emplace(table);
  });
}

OrtStatus* ErrorStatus(const std::string& message) {
  return create_status(kErrorInvalidArgument, message.c_str());
}

void Check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = GetApi().GetErrorMessage(status);
  GetApi().ReleaseStatus(status);
  throw Error(message);
}

bool Succeeded(OrtStatus* status) {
  if (status == nullptr) return true;
  GetApi().ReleaseStatus(status);
  return false;
}

AdaptedOp::AdaptedOp(const OpDefinition& op_definition, const char* execution_provider,
                     int session_threads)
    : CustomOp{},
      definition(op_definition),
      provider(execution_provider),
      threads(session_threads) {
  // Every type is UNDEFINED, that is, any: with one entry per type ONNX Runtime would infer shapes
  // with the first entry only and might insert casts. The kernels check the types instead.
  const auto any_type = [](const CustomOp*, size_t) { return static_cast<int>(Type::kUndefined); };
  version = kApiVersion;
  GetName = [](const CustomOp* op) { return Definition(op).name; };
  GetExecutionProviderType = [](const CustomOp* op) {
    return static_cast<const AdaptedOp*>(op)->provider;
  };
  GetInputType = any_type;
  GetInputTypeCount = [](const CustomOp* op) { return Definition(op).inputs.size(); };
  GetOutputType = any_type;
  GetOutputTypeCount = [](const CustomOp* op) { return Definition(op).outputs.size(); };
  GetInputCharacteristic = [](const CustomOp*, size_t) { return kInputOutputRequired; };
  GetOutputCharacteristic = OutputCharacteristic;
  GetVariadicOutputMinArity = [](const CustomOp*) { return 1; };
  GetVariadicOutputHomogeneity = [](const CustomOp*) { return 0; };
  GetInputMemoryType = [](const CustomOp*, size_t) { return kMemoryDefault; };
  CreateKernelV2 = Create;
  KernelComputeV2 = ort::Compute;
  KernelDestroy = [](void* kernel) { delete static_cast<Instance*>(kernel); };
  InferOutputShapeFn = Infer;
  GetStartVersion = [](const CustomOp*) { return 1; };
  GetEndVersion = [](const CustomOp*) { return 1; };
}

}  // namespace bnn::ort
