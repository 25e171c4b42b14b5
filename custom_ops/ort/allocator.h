// Scratch memory from ONNX Runtime's allocator of the session.
#ifndef BNN_ORT_ALLOCATOR_H_
#define BNN_ORT_ALLOCATOR_H_

#include <cstddef>
#include <memory>

#include "ort/abi.h"

namespace bnn::ort {

class Allocator {
 public:
  // Memory that goes back to the allocator at the end of its life.
  class Buffer {
   public:
    Buffer(const Allocator& allocator, size_t bytes);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Returns the memory, aligned to 64 bytes; null if no bytes were asked for.
    void* data() const { return aligned_; }

   private:
    OrtAllocator* allocator_;
    void* memory_ = nullptr;
    void* aligned_ = nullptr;
  };

  explicit Allocator(const OrtKernelInfo* info);

  Buffer Allocate(size_t bytes) const { return Buffer(*this, bytes); }

 private:
  std::unique_ptr<OrtAllocator, void (*)(OrtAllocator*)> allocator_;
};

}  // namespace bnn::ort

#endif  // BNN_ORT_ALLOCATOR_H_
