#include "ort/allocator.h"

#include <cstdint>

#include "ort/error.h"

namespace bnn::ort {
namespace {

constexpr size_t kAlignment = 64;

OrtAllocator* GetAllocator(const OrtKernelInfo* info) {
  OrtAllocator* allocator = nullptr;
  Check(GetApi().KernelInfoGetAllocator(info, kMemoryDefault, &allocator));
  return allocator;
}

}  // namespace

Allocator::Allocator(const OrtKernelInfo* info)
    : allocator_(GetAllocator(info), GetApi().ReleaseAllocator) {}

Allocator::Buffer::Buffer(const Allocator& allocator, size_t bytes)
    : allocator_(allocator.allocator_.get()) {
  if (bytes == 0) return;
  // The allocator promises less alignment than the kernels want.
  Check(GetApi().AllocatorAlloc(allocator_, bytes + kAlignment, &memory_));
  if (memory_ == nullptr) Fail("scratch memory", "none", std::to_string(bytes) + " bytes");
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory_);
  aligned_ = reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

Allocator::Buffer::~Buffer() {
  if (memory_ != nullptr) Succeeded(GetApi().AllocatorFree(allocator_, memory_));
}

}  // namespace bnn::ort
