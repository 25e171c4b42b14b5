#include "ort/tensor.h"

#include <algorithm>
#include <memory>

#include "ort/error.h"

namespace bnn::ort {

Shape::Shape(std::initializer_list<int64_t> sizes) : rank(sizes.size()) {
  std::copy(sizes.begin(), sizes.end(), dims);
}

bool Shape::operator==(const Shape& other) const {
  return rank == other.rank && std::equal(dims, dims + rank, other.dims);
}

int64_t Shape::Product(size_t first, size_t last) const {
  int64_t product = 1;
  for (size_t axis = first; axis < last; ++axis) {
    // An empty tensor may have other sizes of any magnitude.
    if (__builtin_mul_overflow(product, dims[axis], &product)) {
      Fail("shape", ToString(*this), "sizes whose product fits 63 bits");
    }
  }
  return product;
}

void Shape::CopyAxis(size_t axis, const Shape& from, size_t from_axis) {
  dims[axis] = from.dims[from_axis];
  names[axis] = from.names[from_axis];
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    text += (axis ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + "]";
}

std::string ToString(Type type) {
  static constexpr const char* kNames[] = {"no type", "float32", "uint8",  "int8",   "uint16",
                                           "int16",   "int32",   "int64",  "string", "bool",
                                           "float16", "double",  "uint32", "uint64"};
  const size_t index = static_cast<size_t>(type);
  if (index < std::size(kNames)) return kNames[index];
  return "element type " + std::to_string(index);
}

void ReadTypeAndShape(const OrtTensorTypeAndShapeInfo* info, const char* name, Type* type,
                      Shape* shape) {
  int element_type = 0;
  Check(GetApi().GetTensorElementType(info, &element_type));
  *type = static_cast<Type>(element_type);
  Check(GetApi().GetDimensionsCount(info, &shape->rank));
  if (shape->rank > kMaxRank) {
    Fail(std::string("input ") + name, "rank " + std::to_string(shape->rank),
         "at most " + std::to_string(kMaxRank));
  }
  Check(GetApi().GetDimensions(info, shape->dims, shape->rank));
}

Tensor ReadTensor(const OrtValue* value, const char* name) {
  if (value == nullptr) Fail(std::string("input ") + name, "none", "a tensor");
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Check(GetApi().GetTensorTypeAndShape(value, &info));
  std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(Api::ReleaseTensorTypeAndShapeInfo)> owner(
      info, GetApi().ReleaseTensorTypeAndShapeInfo);
  Tensor tensor;
  ReadTypeAndShape(info, name, &tensor.type, &tensor.shape);
  void* data = nullptr;
  // The call asks for a mutable value, but reading through it changes nothing.
  Check(GetApi().GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  tensor.data = data;
  return tensor;
}

}  // namespace bnn::ort
