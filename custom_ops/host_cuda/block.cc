#include "host_cuda/block.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#if defined(BNN_THREAD_SANITIZER)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace bnn::host_cuda {
namespace {

// What ThreadSanitizer has to know: fibers are threads to it, which are ordered by the places where
// they meet and by nothing else. This file itself is compiled without it.
#if defined(BNN_THREAD_SANITIZER)
void* ThisFiber() { return __tsan_get_current_fiber(); }
void* NewFiber() { return __tsan_create_fiber(0); }
void EndFiber(void* fiber) { __tsan_destroy_fiber(fiber); }
void SayNext(void* fiber) { __tsan_switch_to_fiber(fiber, /*flags: no order*/ 1); }
void SayArrived(void* meeting) { __tsan_release(meeting); }
void SayMet(void* meeting) { __tsan_acquire(meeting); }
#else
void* ThisFiber() { return nullptr; }
void* NewFiber() { return nullptr; }
void EndFiber(void*) {}
void SayNext(void*) {}
void SayArrived(void*) {}
void SayMet(void*) {}
#endif

constexpr size_t kStackBytes = size_t{128} << 10;
constexpr size_t kAlignment = 128;

struct Copy {
  void* to;
  const void* from;
  size_t bytes;
  bool inside;
};

// Where threads meet: `meetings` counts how often all were there.
struct Meeting {
  int arrived = 0;
  uint64_t meetings = 0;
};

struct Warp {
  Meeting meeting;
  void* slots[kWarp] = {};
};

struct Fiber {
  ucontext_t context;
  void* identity = nullptr;  // ThreadSanitizer's
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  unsigned thread = 0;
  bool done = false;
  const Meeting* awaited = nullptr;
  uint64_t seen = 0;
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Meeting barrier;
  std::vector<unsigned char> shared;
  ucontext_t scheduler;
  void* scheduler_identity = nullptr;
  Fiber* running = nullptr;
  const std::function<void()>* body = nullptr;
};

thread_local Block* block = nullptr;

Warp& RunningWarp() { return block->warps[block->running->thread / kWarp]; }

void ToScheduler(Fiber* from) {
  SayNext(block->scheduler_identity);
  swapcontext(&from->context, &block->scheduler);
}

void ToFiber(Fiber* to) {
  block->running = to;
  thread_index.x = to->thread;
  SayNext(to->identity);
  swapcontext(&block->scheduler, &to->context);
}

void Enter() {
  SayMet(block);  // what was there before the block
  (*block->body)();
  SayArrived(block);
  block->running->done = true;
  ToScheduler(block->running);
}

void AwaitNext(const Meeting& meeting, uint64_t seen) {
  Fiber& fiber = *block->running;
  fiber.awaited = &meeting;
  fiber.seen = seen;
  while (meeting.meetings == seen) ToScheduler(&fiber);
  fiber.awaited = nullptr;
}

bool CanRun(const Fiber& fiber) {
  return !fiber.done && (fiber.awaited == nullptr || fiber.awaited->meetings != fiber.seen);
}

void Reset(Block* b) {
  b->warps.assign(b->fibers.size() / kWarp, Warp());
  b->barrier = Meeting();
  std::fill(b->shared.begin(), b->shared.end(), 0xff);  // what was not written shows
  for (size_t i = 0; i < b->fibers.size(); ++i) {
    Fiber& fiber = b->fibers[i];
    fiber.thread = static_cast<unsigned>(i);
    fiber.done = false;
    fiber.awaited = nullptr;
    if (fiber.identity == nullptr) fiber.identity = NewFiber();
    fiber.open.clear();
    fiber.groups.clear();
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, Enter, 0);
  }
}

bool RunBlock(Block* b, const std::vector<unsigned>& order) {
  Reset(b);
  SayArrived(b);
  for (bool all_done = false; !all_done;) {
    bool any_ran = false;
    all_done = true;
    for (unsigned i : order) {
      Fiber& fiber = b->fibers[i];
      if (CanRun(fiber)) {
        any_ran = true;
        ToFiber(&fiber);
      }
      all_done = all_done && fiber.done;
    }
    if (!any_ran && !all_done) return false;
  }
  SayMet(b);
  return true;
}

unsigned Seed() {
  const char* chosen = std::getenv("BNNDEPLOY_HOST_CUDA_SEED");
  return chosen == nullptr ? 0 : static_cast<unsigned>(std::strtoul(chosen, nullptr, 10));
}

}  // namespace

bool RunBlocks(Index grid, unsigned threads, size_t shared_bytes,
               const std::function<void()>& body) {
  Block b;
  b.fibers = std::vector<Fiber>(threads);
  b.shared.resize(shared_bytes + kAlignment);
  b.body = &body;
  b.scheduler_identity = ThisFiber();
  std::vector<unsigned> order(threads);
  for (unsigned i = 0; i < threads; ++i) order[i] = i;
  const unsigned seed = Seed();
  std::mt19937 random(seed);
  block = &b;
  bool met = true;
  for (block_index.z = 0; met && block_index.z < grid.z; ++block_index.z) {
    for (block_index.y = 0; met && block_index.y < grid.y; ++block_index.y) {
      for (block_index.x = 0; met && block_index.x < grid.x; ++block_index.x) {
        if (seed != 0) std::shuffle(order.begin(), order.end(), random);
        met = RunBlock(&b, order);
      }
    }
  }
  block = nullptr;
  for (Fiber& fiber : b.fibers) {
    if (fiber.identity != nullptr) EndFiber(fiber.identity);
  }
  return met;
}

void* SharedMemory() {
  const auto start = reinterpret_cast<uintptr_t>(block->shared.data());
  return reinterpret_cast<void*>((start + kAlignment - 1) / kAlignment * kAlignment);
}

void Barrier() {
  Meeting& barrier = block->barrier;
  const uint64_t seen = barrier.meetings;
  SayArrived(&barrier);
  if (++barrier.arrived < static_cast<int>(block->fibers.size())) {
    AwaitNext(barrier, seen);
  } else {
    barrier.arrived = 0;
    ++barrier.meetings;
  }
  SayMet(&barrier);
}

void MeetWarp(void* slot, const std::function<void()>& work) {
  Warp& warp = RunningWarp();
  const uint64_t seen = warp.meeting.meetings;
  warp.slots[block->running->thread % kWarp] = slot;
  SayArrived(&warp.meeting);
  if (++warp.meeting.arrived < kWarp) {
    AwaitNext(warp.meeting, seen);
  } else {
    SayMet(&warp.meeting);
    work();
    SayArrived(&warp.meeting);
    warp.meeting.arrived = 0;
    ++warp.meeting.meetings;
  }
  SayMet(&warp.meeting);
}

void* Slot(int lane) { return RunningWarp().slots[lane]; }

void StartCopy(void* to, const void* from, size_t bytes, bool inside) {
  block->running->open.push_back({to, from, bytes, inside});
}

void CommitCopies() {
  Fiber& fiber = *block->running;
  fiber.groups.push_back(std::move(fiber.open));
  fiber.open.clear();
}

void WaitCopies(size_t groups_left) {
  auto& groups = block->running->groups;
  for (; groups.size() > groups_left; groups.pop_front()) {
    for (const Copy& copy : groups.front()) {
      if (copy.inside) {
        std::memcpy(copy.to, copy.from, copy.bytes);
      } else {
        std::memset(copy.to, 0, copy.bytes);
      }
    }
  }
}

}  // namespace bnn::host_cuda
