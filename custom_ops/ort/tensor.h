// Views of ONNX Runtime's tensors; no memory is owned or allocated here.
#ifndef BNN_ORT_TENSOR_H_
#define BNN_ORT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "ort/abi.h"

namespace bnn::ort {

inline constexpr size_t kMaxRank = 8;

// Sizes of a tensor. In shape inference -1 is a size that is not known yet; `names` then holds the
// name of a symbolic size or null (it belongs to ONNX Runtime and lives as long as the inference).
struct Shape {
  size_t rank = 0;
  int64_t dims[kMaxRank] = {};
  const char* names[kMaxRank] = {};

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);

  int64_t operator[](size_t axis) const { return dims[axis]; }
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }

  // Returns the product of the sizes of the axes [first, last); throws if it overflows.
  int64_t Product(size_t first, size_t last) const;
  int64_t Count() const { return Product(0, rank); }

  // Copies size and name of an axis of another shape.
  void CopyAxis(size_t axis, const Shape& from, size_t from_axis);
};

struct Tensor {
  Type type = Type::kUndefined;
  Shape shape;
  const void* data = nullptr;

  const float* floats() const { return static_cast<const float*>(data); }
  const uint16_t* halves() const { return static_cast<const uint16_t*>(data); }
  const uint32_t* words() const { return static_cast<const uint32_t*>(data); }
};

std::string ToString(const Shape& shape);
std::string ToString(Type type);

// Reads type and sizes of the input called `name`; throws if the rank exceeds kMaxRank.
void ReadTypeAndShape(const OrtTensorTypeAndShapeInfo* info, const char* name, Type* type,
                      Shape* shape);

// Reads the value of the input called `name`.
Tensor ReadTensor(const OrtValue* value, const char* name);

}  // namespace bnn::ort

#endif  // BNN_ORT_TENSOR_H_
