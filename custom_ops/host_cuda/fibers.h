// Blocks whose threads exchange data: each thread is a fiber, which runs until it has to wait for
// others. All fibers of a block live on one thread of the host.
//
// The environment variable BNNDEPLOY_CUDA_SEED shuffles the order in which they run; without it
// they run by index. A kernel that lacks a barrier gives wrong results for some order.
#ifndef BNN_HOST_CUDA_FIBERS_H_
#define BNN_HOST_CUDA_FIBERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "host_cuda/cuda_on_host.h"

namespace bnn::host_cuda {

inline constexpr int kWarpLanes = 32;

// Runs `body` in every thread of every block, with `shared_bytes` of dynamic shared memory.
void LaunchFibers(Index grid, unsigned threads, size_t shared_bytes,
                  const std::function<void()>& body);

// Dynamic shared memory of the running block, aligned to 128 bytes and filled with a pattern.
void* DynamicShared();

// Waits until all threads of the block that have not returned have come here.
void SyncBlock();

// The exchange of a warp: every lane passes its operands, which stay where they are, and the lane
// that comes last gets those of all of them, computes for all and calls LeaveWarp; the others get
// null once that is done. `operation` tells one instruction from another: lanes that meet in
// different ones end the program with a message.
void** MeetInWarp(const void* operation, void* operands);
void LeaveWarp();

// Asynchronous copies of the running thread: `bytes` of `from`, then zeros up to `size`. The bytes
// arrive at the wait that asks for them and not before.
void QueueCopy(void* to, const void* from, int bytes, int size);
void CommitCopies();
void WaitForCopies(size_t groups_left);

}  // namespace bnn::host_cuda

#endif  // BNN_HOST_CUDA_FIBERS_H_
