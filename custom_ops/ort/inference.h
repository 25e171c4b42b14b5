// A node while ONNX Runtime infers shapes. Nothing is reported from here: what is wrong with a node
// is said when its kernel is created or run.
#ifndef BNN_ORT_INFERENCE_H_
#define BNN_ORT_INFERENCE_H_

#include "ort/attributes.h"
#include "ort/tensor.h"

namespace bnn::ort {

class Inference : public Attributes {
 public:
  explicit Inference(const OrtShapeInferContext* context) : context_(context) {}

  // Reads what is known about an input: unknown sizes are -1, an unknown rank is 0.
  void Input(size_t index, Type* type, Shape* shape) const;

  // States an output. An output that the node does not name is ignored.
  void Output(size_t index, Type type, const Shape& shape) const;

 protected:
  bool ReadInt(const char* name, int64_t* value) const override;
  bool ReadFloat(const char* name, float* value) const override;
  bool ReadInts(const char* name, int64_t* values, size_t* count) const override;

 private:
  bool Read(const char* name, int type, void* data, size_t room, size_t* size) const;

  const OrtShapeInferContext* context_;
};

}  // namespace bnn::ort

#endif  // BNN_ORT_INFERENCE_H_
