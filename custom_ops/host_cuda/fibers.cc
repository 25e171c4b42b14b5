#include "host_cuda/fibers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "host_cuda/fiber_switch.h"

namespace bnn::host_cuda {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;
constexpr size_t kSharedAlignment = 128;

struct Copy {
  void* to;
  const void* from;
  int bytes, size;
};

// Counts the rounds of a barrier; a waiting fiber goes on when the round is another.
struct Meeting {
  int arrived = 0;
  uint64_t round = 0;
};

struct Warp {
  Meeting meeting;
  const void* operation = nullptr;
  void* operands[kWarpLanes] = {};
};

struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  bool done = false;
  const Meeting* awaited = nullptr;
  uint64_t round = 0;
  std::vector<Copy> open_copies;
  std::deque<std::vector<Copy>> copies;
};

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "CUDA kernel on the host: %s\n", what);
  std::abort();
}

// The blocks that one thread of the host runs, one after the other.
class Block {
 public:
  void Run(unsigned threads, size_t shared_bytes, const std::function<void()>& body);

  Fiber& current() { return *fibers_[static_cast<size_t>(current_)]; }
  Warp& warp() { return warps_[static_cast<size_t>(current_ / kWarpLanes)]; }
  int lane() const { return current_ % kWarpLanes; }
  void* shared() const { return shared_; }

  // Lets others run until the round of the meeting is another.
  void Wait(const Meeting& meeting);
  void ArriveAtBarrier();

 private:
  static void Entry();
  void FillShared(size_t bytes);
  void RunAll(std::vector<int>* order);
  void OpenIfComplete();

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  std::vector<char> shared_bytes_;
  void* shared_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  Context main_;
  Meeting barrier_;
  int current_ = 0;
  int live_ = 0;
};

thread_local Block block;

void Block::Entry() {
  (*block.body_)();
  block.current().done = true;
  --block.live_;
  block.OpenIfComplete();  // a thread that has returned is waited for no longer
  Switch(&block.current().context, &block.main_);
  Fail("a thread runs on after its end");
}

void Block::OpenIfComplete() {
  if (barrier_.arrived == 0 || barrier_.arrived < live_) return;
  barrier_.arrived = 0;
  ++barrier_.round;
}

void Block::ArriveAtBarrier() {
  const uint64_t round = barrier_.round;
  ++barrier_.arrived;
  OpenIfComplete();
  if (barrier_.round == round) Wait(barrier_);
}

void Block::Wait(const Meeting& meeting) {
  Fiber& self = current();
  self.awaited = &meeting;
  self.round = meeting.round;
  Switch(&self.context, &main_);
  self.awaited = nullptr;
}

void Block::FillShared(size_t bytes) {
  shared_bytes_.assign(bytes + kSharedAlignment, '\x5a');
  const auto start = reinterpret_cast<uintptr_t>(shared_bytes_.data());
  const uintptr_t aligned = (start + kSharedAlignment - 1) & ~(kSharedAlignment - 1);
  shared_ = shared_bytes_.data() + (aligned - start);
}

void Block::Run(unsigned threads, size_t shared_bytes, const std::function<void()>& body) {
  while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
  warps_.assign((threads + kWarpLanes - 1) / kWarpLanes, Warp());
  FillShared(shared_bytes);
  body_ = &body;
  barrier_ = Meeting();
  live_ = static_cast<int>(threads);
  std::vector<int> order;
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = *fibers_[i];
    fiber.done = false;
    fiber.awaited = nullptr;
    fiber.open_copies.clear();
    fiber.copies.clear();
    Prepare(&fiber.context, fiber.stack.get(), kStackBytes, &Block::Entry);
    order.push_back(static_cast<int>(i));
  }
  RunAll(&order);
}

void Block::RunAll(std::vector<int>* order) {
  const char* seed = std::getenv("BNNDEPLOY_CUDA_SEED");
  const bool shuffled = seed != nullptr && *seed != '\0';
  std::minstd_rand random(shuffled ? static_cast<unsigned>(std::atoi(seed)) + 1 : 1);
  while (live_ > 0) {
    bool moved = false;
    if (shuffled) std::shuffle(order->begin(), order->end(), random);
    for (const int i : *order) {
      Fiber& fiber = *fibers_[static_cast<size_t>(i)];
      const bool waits = fiber.awaited != nullptr && fiber.awaited->round == fiber.round;
      if (fiber.done || waits) continue;
      current_ = i;
      thread_index = {static_cast<unsigned>(i), 0, 0};
      Switch(&main_, &fiber.context);
      moved = true;
    }
    if (!moved) Fail("all threads wait: some do not come to a barrier or an exchange of the warp");
  }
}

}  // namespace

void LaunchFibers(Index grid, unsigned threads, size_t shared_bytes,
                  const std::function<void()>& body) {
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        block_index = {x, y, z};
        block.Run(threads, shared_bytes, body);
      }
    }
  }
}

void* DynamicShared() { return block.shared(); }

void SyncBlock() { block.ArriveAtBarrier(); }

void** MeetInWarp(const void* operation, void* operands) {
  Warp& warp = block.warp();
  if (warp.meeting.arrived > 0 && warp.operation != operation) {
    Fail("lanes of a warp meet in different instructions");
  }
  warp.operation = operation;
  warp.operands[block.lane()] = operands;
  if (++warp.meeting.arrived == kWarpLanes) return warp.operands;
  block.Wait(warp.meeting);
  return nullptr;
}

void LeaveWarp() {
  Warp& warp = block.warp();
  warp.meeting.arrived = 0;
  ++warp.meeting.round;
}

void QueueCopy(void* to, const void* from, int bytes, int size) {
  block.current().open_copies.push_back({to, from, bytes, size});
}

void CommitCopies() {
  Fiber& fiber = block.current();
  fiber.copies.push_back(std::move(fiber.open_copies));
  fiber.open_copies.clear();
}

void WaitForCopies(size_t groups_left) {
  auto& groups = block.current().copies;
  for (; groups.size() > groups_left; groups.pop_front()) {
    for (const Copy& copy : groups.front()) {
      std::memset(copy.to, 0, static_cast<size_t>(copy.size));
      if (copy.bytes > 0) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    }
  }
}

}  // namespace bnn::host_cuda
