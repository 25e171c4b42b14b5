#include "ort/run.h"

#include "ort/adaptor.h"
#include "ort/error.h"

namespace bnn::ort {

Tensor Run::Input(size_t index, Type type) const {
  const OrtValue* value = nullptr;
  Check(GetApi().KernelContext_GetInput(context_, index, &value));
  const Tensor tensor = ReadTensor(value, definition_.inputs[index]);
  if (tensor.type != type) Fail(InputSubject(index), ToString(tensor.type), ToString(type));
  return tensor;
}

void* Run::Output(size_t index, const Shape& shape) const {
  OrtValue* value = nullptr;
  Check(GetApi().KernelContext_GetOutput(context_, index, shape.dims, shape.rank, &value));
  void* data = nullptr;
  if (shape.Count() > 0) Check(GetApi().GetTensorMutableData(value, &data));
  return data;
}

void* Run::GpuStream() const {
  void* stream = nullptr;
  Check(GetApi().KernelContext_GetGPUComputeStream(context_, &stream));
  return stream;
}

std::string Run::InputSubject(size_t index) const {
  return std::string("input ") + definition_.inputs[index];
}

void Run::FailShape(size_t index, const Shape& got, const std::string& expected) const {
  Fail(InputSubject(index), "shape " + ToString(got), expected);
}

void Run::ParallelFor(void (*task)(void*, size_t), size_t total, void* data) const {
  Check(GetApi().KernelContext_ParallelFor(context_, task, total, 0, data));
}

}  // namespace bnn::ort
