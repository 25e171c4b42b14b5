#include "ort/inference.h"

#include <atomic>
#include <memory>
#include <string>

#include "ort/error.h"

namespace bnn::ort {
namespace {

std::atomic<uint64_t> fresh_names{0};  // sessions may be created on several threads

}  // namespace

void Inference::Input(size_t index, Type* type, Shape* shape) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;  // stays with the context
  Check(GetApi().ShapeInferContext_GetInputTypeShape(context_, index, &info));
  size_t rank = 0;
  Check(GetApi().GetDimensionsCount(info, &rank));
  if (rank > kMaxRank) {  // no op takes it, but the outputs need a type all the same
    int element_type = 0;
    Check(GetApi().GetTensorElementType(info, &element_type));
    *type = static_cast<Type>(element_type);
    *shape = Shape();
    return;
  }
  ReadTypeAndShape(info, "", type, shape);
  Check(GetApi().GetSymbolicDimensions(info, shape->names, shape->rank));
}

void Inference::Output(size_t index, Type type, const Shape& shape) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(GetApi().CreateTensorTypeAndShapeInfo(&info));
  std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(Api::ReleaseTensorTypeAndShapeInfo)> owner(
      info, GetApi().ReleaseTensorTypeAndShapeInfo);
  Check(GetApi().SetTensorElementType(info, static_cast<int>(type)));
  Check(GetApi().SetDimensions(info, shape.dims, shape.rank));
  // ONNX Runtime takes a size without a name for a number, even -1: name what is not known.
  const char* names[kMaxRank];
  std::string fresh[kMaxRank];
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    const bool named = shape.names[axis] != nullptr && *shape.names[axis] != '\0';
    if (shape[axis] < 0 && !named) fresh[axis] = "bnndeploy_" + std::to_string(fresh_names++);
    names[axis] = shape[axis] < 0 && named ? shape.names[axis] : fresh[axis].c_str();
  }
  Check(GetApi().SetSymbolicDimensions(info, names, shape.rank));
  Succeeded(GetApi().ShapeInferContext_SetOutputTypeShape(context_, index, info));
}

bool Inference::Read(const char* name, int type, void* data, size_t room, size_t* size) const {
  const OrtOpAttr* attribute = nullptr;
  if (!Succeeded(GetApi().ShapeInferContext_GetAttribute(context_, name, &attribute))) return false;
  return Succeeded(GetApi().ReadOpAttr(attribute, type, data, room, size));
}

bool Inference::ReadInt(const char* name, int64_t* value) const {
  size_t size = 0;
  return Read(name, kAttributeInt, value, sizeof *value, &size);
}

bool Inference::ReadFloat(const char* name, float* value) const {
  size_t size = 0;
  return Read(name, kAttributeFloat, value, sizeof *value, &size);
}

bool Inference::ReadInts(const char* name, int64_t* values, size_t* count) const {
  size_t size = 0;
  if (!Read(name, kAttributeInts, values, *count * sizeof *values, &size)) return false;
  *count = size / sizeof *values;
  return true;
}

}  // namespace bnn::ort
