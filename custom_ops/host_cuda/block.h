// Runs the threads of a CUDA block on the host as fibers of one operating system thread, so that
// they can wait for each other and exchange values, in an order that a seed shuffles.
//
// BNNDEPLOY_HOST_CUDA_SEED (a number, 0 for the natural order) is read at every launch.
#ifndef BNN_HOST_CUDA_BLOCK_H_
#define BNN_HOST_CUDA_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

namespace bnn::host_cuda {

inline constexpr int kWarp = 32;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

inline thread_local Index block_index, thread_index;

// Runs body() for every thread of every block; false if threads wait for others that never come.
bool RunBlocks(Index grid, unsigned threads, size_t shared_bytes,
               const std::function<void()>& body);

// The rest is for the running thread.

// The shared memory of its block, which holds 0xff.. at first, aligned to 128 bytes.
void* SharedMemory();

// Waits until every thread of the block is here.
void Barrier();

// Waits until every lane of the warp is here; the last one runs `work` before the others go on.
// `slot` is what the lane shows to the others meanwhile: Slot(lane) in `work`.
void MeetWarp(void* slot, const std::function<void()>& work);
void* Slot(int lane);

// An asynchronous copy, which is done when WaitCopies says so and not before.
void StartCopy(void* to, const void* from, size_t bytes, bool inside);
void CommitCopies();
void WaitCopies(size_t groups_left);

// Gives every lane what `compute(in, out)` makes of the values of all lanes.
template <typename Out, typename In, typename Compute>
Out Exchange(const In& in, const Compute& compute) {
  struct Entry {
    In in;
    Out out;
  } entry{in, {}};
  MeetWarp(&entry, [&] {
    In all[kWarp];
    Out results[kWarp];
    for (int lane = 0; lane < kWarp; ++lane) {
      std::memcpy(&all[lane], &static_cast<Entry*>(Slot(lane))->in, sizeof(In));
    }
    compute(all, results);
    for (int lane = 0; lane < kWarp; ++lane) {
      std::memcpy(&static_cast<Entry*>(Slot(lane))->out, &results[lane], sizeof(Out));
    }
  });
  return entry.out;
}

}  // namespace bnn::host_cuda

#endif  // BNN_HOST_CUDA_BLOCK_H_
