// A kernel's view of one run.
#ifndef BNN_ORT_RUN_H_
#define BNN_ORT_RUN_H_

#include <algorithm>
#include <string>

#include "ort/tensor.h"

namespace bnn::ort {

struct OpDefinition;

class Run {
 public:
  Run(OrtKernelContext* context, const OpDefinition& definition)
      : context_(context), definition_(definition) {}

  // Returns an input; throws unless it has this type.
  Tensor Input(size_t index, Type type) const;

  // Allocates an output; the pointer is null if it has no elements.
  void* Output(size_t index, const Shape& shape) const;

  // Returns the stream of the CUDA execution provider, on which all work of the run is queued.
  void* GpuStream() const;

  // Returns "input W" and the like, for messages.
  std::string InputSubject(size_t index) const;

  // Throws "input <name>: got shape <got>, expected <expected>".
  [[noreturn]] void FailShape(size_t index, const Shape& got, const std::string& expected) const;

  // Calls task(begin, end) on ranges of at least `grain` that cover [0, total).
  template <typename Task>
  void ParallelRanges(int64_t total, int64_t grain, const Task& task) const {
    // More ranges than threads, so that a thread that is late costs little.
    constexpr int64_t kMaxRanges = 64;
    const int64_t ranges = std::clamp<int64_t>(total / grain, total > 0 ? 1 : 0, kMaxRanges);
    ParallelFor(ranges, [&](int64_t i) { task(total * i / ranges, total * (i + 1) / ranges); });
  }

  // Calls task(i) for every i in [0, total) on the threads of the session, each i once.
  template <typename Task>
  void ParallelFor(int64_t total, const Task& task) const {
    if (total <= 1) {
      if (total == 1) task(0);
      return;
    }
    const auto call = [](void* data, size_t i) {
      (*static_cast<const Task*>(data))(static_cast<int64_t>(i));
    };
    ParallelFor(call, static_cast<size_t>(total), const_cast<Task*>(&task));
  }

 private:
  void ParallelFor(void (*task)(void*, size_t), size_t total, void* data) const;

  OrtKernelContext* context_;
  const OpDefinition& definition_;
};

}  // namespace bnn::ort

#endif  // BNN_ORT_RUN_H_
