// A node while ONNX Runtime creates its kernel.
#ifndef BNN_ORT_NODE_H_
#define BNN_ORT_NODE_H_

#include <initializer_list>
#include <optional>
#include <string>

#include "ort/allocator.h"
#include "ort/attributes.h"
#include "ort/tensor.h"

namespace bnn::ort {

struct OpDefinition;

// Returns the name of a node in the graph that ONNX Runtime runs.
std::string NodeName(const OrtKernelInfo* info);

class Node : public Attributes {
 public:
  Node(const OrtKernelInfo* info, const OpDefinition& definition, int threads);

  std::string name() const { return NodeName(info_); }

  // Returns the most threads that a run of the session has.
  int threads() const { return threads_; }

  // Returns the element type of an input; throws unless it is one of `allowed`.
  Type InputType(size_t index, std::initializer_list<Type> allowed) const;

  // Returns the input if it is an initializer; its data lives as long as the session.
  std::optional<Tensor> ConstantInput(size_t index) const;

  // Tells whether the node names this output.
  bool Wants(size_t output) const;

  // Throws unless the node lists exactly the outputs of the op.
  void CheckOutputCount() const;

  // Throws unless ONNX Runtime takes the output for this type: it allocates the output, so a model
  // that declares a smaller type would make a kernel write beyond the end.
  void CheckOutputType(size_t index, Type type) const;

  // Returns the session's allocator of the memory that the node's provider computes in.
  Allocator allocator() const { return Allocator(info_); }

  // Returns "input W" and the like, for messages.
  std::string InputSubject(size_t index) const;

 protected:
  bool ReadInt(const char* name, int64_t* value) const override;
  bool ReadFloat(const char* name, float* value) const override;
  bool ReadInts(const char* name, int64_t* values, size_t* count) const override;

 private:
  const OrtKernelInfo* info_;
  const OpDefinition& definition_;
  int threads_;
};

}  // namespace bnn::ort

#endif  // BNN_ORT_NODE_H_
