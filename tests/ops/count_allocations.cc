// Counts the allocations that the operator library itself asks for: preloaded, it stands before
// malloc and operator new and looks at who called.
//   c++ -std=c++17 -O1 -shared -fPIC count_allocations.cc -o count_allocations.so -ldl
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

std::atomic<long> count{0};
std::atomic<const char*> library_begin{nullptr}, library_end{nullptr};

void Count(const void* caller) {
  const auto* at = static_cast<const char*>(caller);
  if (at >= library_begin && at < library_end) ++count;
}

void* New(size_t bytes, size_t alignment) {
  if (void* memory = __libc_memalign(alignment, bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#define BNN_COUNT Count(__builtin_return_address(0))

extern "C" {
// Counts callers in the code from `begin` to `end`, from 0 on.
void CountAllocationsOf(const char* begin, const char* end) {
  library_begin = begin;
  library_end = end;
  count = 0;
}
long AllocationCount() { return count; }

void* malloc(size_t bytes) {
  BNN_COUNT;
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
  BNN_COUNT;
  return __libc_calloc(n, bytes);
}
void* realloc(void* memory, size_t bytes) {
  BNN_COUNT;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  BNN_COUNT;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  BNN_COUNT;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}
}

void* operator new(size_t bytes) {
  BNN_COUNT;
  return New(bytes, alignof(std::max_align_t));
}
void* operator new[](size_t bytes) {
  BNN_COUNT;
  return New(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  BNN_COUNT;
  return New(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete[](void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, size_t) noexcept { __libc_free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { __libc_free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { __libc_free(memory); }
