// The part of ONNX Runtime's C ABI that we use, declared by us, so that a build needs no header of
// theirs and one binary runs on every ONNX Runtime from 1.23 on. Nothing here is linked: ONNX
// Runtime hands RegisterCustomOps the base, and the base hands out the function table.
#ifndef BNN_ORT_ABI_H_
#define BNN_ORT_ABI_H_

#include <cstddef>
#include <cstdint>

extern "C" {
struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtCustomOp;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtShapeInferContext;
struct OrtOpAttr;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;
struct OrtAllocator;
struct OrtApi;
struct OrtApiBase;
}

namespace bnn::ort {

// API version of ONNX Runtime 1.18: the newest whose additions we call.
inline constexpr uint32_t kApiVersion = 18;

// Values of ONNX Runtime's enumerations; every one of them is passed as an int.
inline constexpr int kErrorInvalidArgument = 2;
inline constexpr int kInputOutputRequired = 0;
inline constexpr int kInputOutputOptional = 1;
inline constexpr int kInputOutputVariadic = 2;
inline constexpr int kMemoryDefault = 0;
inline constexpr int kAttributeInt = 1;
inline constexpr int kAttributeInts = 2;
inline constexpr int kAttributeFloat = 3;

// Element types as ONNX numbers them.
enum class Type : int { kUndefined = 0, kFloat = 1, kFloat16 = 10, kUint32 = 12 };

struct ApiBase {
  const void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// The functions of slots.inc, picked out of OrtApi's table.
struct Api {
#define BNN_ORT_SLOT(index, name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "ort/slots.inc"
#undef BNN_ORT_SLOT

  explicit Api(const void* const* table) {
#define BNN_ORT_SLOT(index, name, result, ...) \
  name = reinterpret_cast<result (*)(__VA_ARGS__)>(const_cast<void*>(table[index]));
#include "ort/slots.inc"
#undef BNN_ORT_SLOT
  }
};

// OrtCustomOp: what ONNX Runtime asks of an op. Zero it first: a null function means "no opinion".
struct CustomOp {
  uint32_t version;
  void* (*CreateKernel)(const CustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
  const char* (*GetName)(const CustomOp* op);
  const char* (*GetExecutionProviderType)(const CustomOp* op);
  int (*GetInputType)(const CustomOp* op, size_t index);
  size_t (*GetInputTypeCount)(const CustomOp* op);
  int (*GetOutputType)(const CustomOp* op, size_t index);
  size_t (*GetOutputTypeCount)(const CustomOp* op);
  void (*KernelCompute)(void* kernel, OrtKernelContext* context);
  void (*KernelDestroy)(void* kernel);
  int (*GetInputCharacteristic)(const CustomOp* op, size_t index);
  int (*GetOutputCharacteristic)(const CustomOp* op, size_t index);
  int (*GetInputMemoryType)(const CustomOp* op, size_t index);
  int (*GetVariadicInputMinArity)(const CustomOp* op);
  int (*GetVariadicInputHomogeneity)(const CustomOp* op);
  int (*GetVariadicOutputMinArity)(const CustomOp* op);
  int (*GetVariadicOutputHomogeneity)(const CustomOp* op);
  OrtStatus* (*CreateKernelV2)(const CustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                               void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext* context);
  OrtStatus* (*InferOutputShapeFn)(const CustomOp* op, OrtShapeInferContext* context);
  int (*GetStartVersion)(const CustomOp* op);
  int (*GetEndVersion)(const CustomOp* op);
  size_t (*GetMayInplace)(int** inputs, int** outputs);
  void (*ReleaseMayInplace)(int* inputs, int* outputs);
  size_t (*GetAliasMap)(int** inputs, int** outputs);
  void (*ReleaseAliasMap)(int* inputs, int* outputs);
};
static_assert(sizeof(void*) != 8 || sizeof(CustomOp) == 208, "OrtCustomOp of API 18");

}  // namespace bnn::ort

#endif  // BNN_ORT_ABI_H_
