#include "ort/node.h"

#include <memory>

#include "ort/adaptor.h"
#include "ort/error.h"

namespace bnn::ort {
namespace {

// Returns the element type that `info` states, kUndefined if it is no tensor.
Type ReadAndRelease(OrtTypeInfo* info) {
  std::unique_ptr<OrtTypeInfo, decltype(Api::ReleaseTypeInfo)> owner(info,
                                                                     GetApi().ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Check(GetApi().CastTypeInfoToTensorInfo(info, &tensor));
  int type = 0;
  if (tensor != nullptr) Check(GetApi().GetTensorElementType(tensor, &type));
  return static_cast<Type>(type);
}

}  // namespace

std::string NodeName(const OrtKernelInfo* info) {
  size_t size = 0;
  if (!Succeeded(GetApi().KernelInfo_GetNodeName(info, nullptr, &size)) || size == 0) return "";
  std::string name(size, '\0');
  if (!Succeeded(GetApi().KernelInfo_GetNodeName(info, name.data(), &size))) return "";
  name.resize(size - 1);  // the size counts the terminating zero
  return name;
}

Node::Node(const OrtKernelInfo* info, const OpDefinition& definition, int threads)
    : info_(info), definition_(definition), threads_(threads) {}

std::string Node::InputSubject(size_t index) const {
  return std::string("input ") + definition_.inputs[index];
}

Type Node::InputType(size_t index, std::initializer_list<Type> allowed) const {
  OrtTypeInfo* info = nullptr;
  Check(GetApi().KernelInfo_GetInputTypeInfo(info_, index, &info));
  const Type type = ReadAndRelease(info);
  std::string expected;
  for (Type candidate : allowed) {
    if (candidate == type) return type;
    expected += (expected.empty() ? "" : " or ") + ToString(candidate);
  }
  Fail(InputSubject(index), ToString(type), expected);
}

void Node::CheckOutputCount() const {
  size_t count = 0;
  Check(GetApi().KernelInfo_GetOutputCount(info_, &count));
  const size_t expected = definition_.outputs.size();
  if (count != expected) Fail("outputs", std::to_string(count), std::to_string(expected));
}

void Node::CheckOutputType(size_t index, Type type) const {
  if (!Wants(index)) return;
  OrtTypeInfo* info = nullptr;
  Check(GetApi().KernelInfo_GetOutputTypeInfo(info_, index, &info));
  const Type declared = ReadAndRelease(info);
  if (declared == type) return;
  Fail(std::string("output ") + definition_.outputs[index], ToString(declared), ToString(type));
}

std::optional<Tensor> Node::ConstantInput(size_t index) const {
  int is_constant = 0;
  const OrtValue* value = nullptr;
  Check(GetApi().KernelInfoGetConstantInput_tensor(info_, index, &is_constant, &value));
  if (!is_constant || value == nullptr) return std::nullopt;
  return ReadTensor(value, definition_.inputs[index]);
}

bool Node::Wants(size_t output) const {
  size_t size = 0;
  Check(GetApi().KernelInfo_GetOutputName(info_, output, nullptr, &size));
  return size > 1;  // the size counts the terminating zero
}

bool Node::ReadInt(const char* name, int64_t* value) const {
  return Succeeded(GetApi().KernelInfoGetAttribute_int64(info_, name, value));
}

bool Node::ReadFloat(const char* name, float* value) const {
  return Succeeded(GetApi().KernelInfoGetAttribute_float(info_, name, value));
}

bool Node::ReadInts(const char* name, int64_t* values, size_t* count) const {
  const size_t room = *count;
  if (Succeeded(GetApi().KernelInfoGetAttributeArray_int64(info_, name, values, count)))
    return true;
  return *count > room;  // there, but longer than the room
}

}  // namespace bnn::ort
