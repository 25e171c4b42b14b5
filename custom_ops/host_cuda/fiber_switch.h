// Switches between stacks: a few instructions on x86-64, ucontext elsewhere.
#ifndef BNN_HOST_CUDA_FIBER_SWITCH_H_
#define BNN_HOST_CUDA_FIBER_SWITCH_H_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && !defined(BNN_FIBERS_BY_UCONTEXT)

// Saves the registers that a call preserves and the stack pointer to *from, then continues at `to`.
extern "C" void BnnSwitchStack(void** from, void* to);
asm(R"(
  .pushsection .text
  .hidden BnnSwitchStack
  .type BnnSwitchStack, @function
BnnSwitchStack:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .size BnnSwitchStack, . - BnnSwitchStack
  .popsection
)");

namespace bnn::host_cuda {

struct Context {
  void* stack_pointer = nullptr;
};

// Prepares a first switch, which calls `entry`; that must not return.
inline void Prepare(Context* context, char* stack, size_t bytes, void (*entry)()) {
  constexpr int kSavedRegisters = 6;
  auto top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t{15};
  auto* slot = reinterpret_cast<void**>(top);
  *--slot = nullptr;  // in place of a return address: entry finds the stack as after a call
  *--slot = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kSavedRegisters; ++i) *--slot = nullptr;
  context->stack_pointer = slot;
}

inline void Switch(Context* from, Context* to) {
  BnnSwitchStack(&from->stack_pointer, to->stack_pointer);
}

}  // namespace bnn::host_cuda

#else
#include <ucontext.h>

namespace bnn::host_cuda {

struct Context {
  ucontext_t state;
};

inline void Prepare(Context* context, char* stack, size_t bytes, void (*entry)()) {
  getcontext(&context->state);
  context->state.uc_stack.ss_sp = stack;
  context->state.uc_stack.ss_size = bytes;
  context->state.uc_link = nullptr;
  makecontext(&context->state, entry, 0);
}

inline void Switch(Context* from, Context* to) { swapcontext(&from->state, &to->state); }

}  // namespace bnn::host_cuda

#endif

#endif  // BNN_HOST_CUDA_FIBER_SWITCH_H_
