// Compares our declaration of ONNX Runtime's C ABI with ONNX Runtime's own header: the index and
// the signature of every slot, the offset and the signature of every field of OrtCustomOp, the
// values of enumerations. It compiles or it does not:
//   c++ -std=c++17 -fsyntax-only -I custom_ops -I <folder of onnxruntime_c_api.h>
//       tests/ops/check_ort_abi.cc
#include <onnxruntime_c_api.h>

#include <cstddef>
#include <type_traits>

#include "ort/abi.h"

namespace {

using bnn::ort::CustomOp;

// Maps a type to the one that stands for it in our header: enumerations are ints, pointers to them
// are pointers to int, and OrtCustomOp is our CustomOp.
template <typename T, bool kIsEnum = std::is_enum_v<T>>
struct Ours {
  using Type = T;
};
template <typename T>
struct Ours<T, true> {
  static_assert(sizeof(T) == sizeof(int));
  using Type = int;
};
template <>
struct Ours<OrtCustomOp, false> {
  using Type = CustomOp;
};
template <typename T>
struct Ours<const T, false> {
  using Type = const typename Ours<T>::Type;
};
template <typename T>
struct Ours<T*, false> {
  using Type = typename Ours<T>::Type*;
};
template <typename Result, typename... Arguments>
struct Ours<Result(Arguments...), false> {
  using Type = typename Ours<Result>::Type(typename Ours<Arguments>::Type...);
};
template <typename Result, typename... Arguments>
struct Ours<Result(Arguments...) noexcept, false> {
  using Type = typename Ours<Result>::Type(typename Ours<Arguments>::Type...);
};

// Undoes Ours<OrtCustomOp> where slots.inc names ONNX Runtime's own struct.
template <typename T>
using Normal = typename Ours<T>::Type;

#define BNN_ORT_SLOT(index, name, result, ...)                                                   \
  static_assert(offsetof(OrtApi, name) == (index) * sizeof(void*), "index of " #name);           \
  static_assert(std::is_same_v<Normal<decltype(OrtApi::name)>, Normal<result (*)(__VA_ARGS__)>>, \
                "signature of " #name);
#include "ort/slots.inc"
#include "runner/slots.inc"
#undef BNN_ORT_SLOT

static_assert(offsetof(OrtApiBase, GetApi) == offsetof(bnn::ort::ApiBase, GetApi));
static_assert(offsetof(OrtApiBase, GetVersionString) ==
              offsetof(bnn::ort::ApiBase, GetVersionString));
static_assert(sizeof(OrtCustomOp) == sizeof(CustomOp));

#define BNN_FIELD(name)                                                                        \
  static_assert(offsetof(OrtCustomOp, name) == offsetof(CustomOp, name), "offset of " #name);  \
  static_assert(std::is_same_v<Normal<decltype(OrtCustomOp::name)>, decltype(CustomOp::name)>, \
                "signature of " #name);
BNN_FIELD(version)
BNN_FIELD(CreateKernel)
BNN_FIELD(GetName)
BNN_FIELD(GetExecutionProviderType)
BNN_FIELD(GetInputType)
BNN_FIELD(GetInputTypeCount)
BNN_FIELD(GetOutputType)
BNN_FIELD(GetOutputTypeCount)
BNN_FIELD(KernelCompute)
BNN_FIELD(KernelDestroy)
BNN_FIELD(GetInputCharacteristic)
BNN_FIELD(GetOutputCharacteristic)
BNN_FIELD(GetInputMemoryType)
BNN_FIELD(GetVariadicInputMinArity)
BNN_FIELD(GetVariadicInputHomogeneity)
BNN_FIELD(GetVariadicOutputMinArity)
BNN_FIELD(GetVariadicOutputHomogeneity)
BNN_FIELD(CreateKernelV2)
BNN_FIELD(KernelComputeV2)
BNN_FIELD(InferOutputShapeFn)
BNN_FIELD(GetStartVersion)
BNN_FIELD(GetEndVersion)
BNN_FIELD(GetMayInplace)
BNN_FIELD(ReleaseMayInplace)
BNN_FIELD(GetAliasMap)
BNN_FIELD(ReleaseAliasMap)

static_assert(ORT_API_VERSION >= bnn::ort::kApiVersion);
static_assert(ORT_INVALID_ARGUMENT == bnn::ort::kErrorInvalidArgument);
static_assert(INPUT_OUTPUT_REQUIRED == bnn::ort::kInputOutputRequired);
static_assert(INPUT_OUTPUT_OPTIONAL == bnn::ort::kInputOutputOptional);
static_assert(INPUT_OUTPUT_VARIADIC == bnn::ort::kInputOutputVariadic);
static_assert(OrtMemTypeDefault == bnn::ort::kMemoryDefault);
static_assert(ORT_OP_ATTR_INT == bnn::ort::kAttributeInt);
static_assert(ORT_OP_ATTR_INTS == bnn::ort::kAttributeInts);
static_assert(ORT_OP_ATTR_FLOAT == bnn::ort::kAttributeFloat);
static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED == int(bnn::ort::Type::kUndefined));
static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT == int(bnn::ort::Type::kFloat));
static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 == int(bnn::ort::Type::kFloat16));
static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 == int(bnn::ort::Type::kUint32));

}  // namespace
