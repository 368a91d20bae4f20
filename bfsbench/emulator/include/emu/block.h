// Barriers of blocks, clusters and grids, and access to the shared memory of a cluster. The parameter `from`
// of a barrier function is the source line of the call. In CUDA, the threads of a block must not wait at
// different __syncthreads calls at the same time. If they do, the emulator's error message names the source
// lines of two of these calls.
#pragma once

#include <cstdint>

#include "state.h"

namespace emu {

// The result that each thread receives from a block barrier, for example from __syncthreads_count.
struct Votes {
    unsigned in_favour;  // number of threads that passed a true predicate to the barrier
    unsigned all;        // number of threads that arrived at the barrier
};
// Waits at the block's barrier until every thread of the block has arrived or exited. Returns how many
// threads arrived, and how many of them passed true as `predicate`.
EMU_API Votes block_barrier(bool predicate, CallSite from, const void* site);

// Arrives at barrier `number` (0 to 15) of the block. The barrier is complete when `count` threads have arrived.
// If `waits` is true, the function waits until the barrier is complete. The launch fails if two threads pass
// different counts.
EMU_API void named_barrier(unsigned number, unsigned count, bool waits, CallSite from, const void* site);

EMU_API void grid_barrier(CallSite from);
// Returns whether the launch is cooperative. Only a kernel of a cooperative launch may wait at a barrier of
// the whole grid.
EMU_API bool has_grid_barrier();

EMU_API void cluster_arrive();
EMU_API void cluster_wait(CallSite from);
struct ClusterPlace {
    uint3 index, rank;  // `index` of the cluster in the grid; `rank` of the block in the cluster
    dim3 blocks;
};
EMU_API ClusterPlace cluster_place();
// Returns the address that a variable has in the shared memory of another block of the cluster. `address` is
// the variable's address in the calling block, and `block_rank` is the other block's rank.
EMU_API void* map_shared(void* address, unsigned block_rank);
EMU_API unsigned shared_owner(const void* address);
// shared_address() converts an address in the shared memory of the cluster to the 32-bit address that inline
// PTX uses. shared_at() converts the 32-bit address back.
EMU_API uint32_t shared_address(const void* address);
EMU_API void* shared_at(uint32_t number);

}  // namespace emu

EMU_OWN inline void __syncthreads(emu::CallSite from = EMU_HERE) {
    emu::block_barrier(false, from, EMU_SITE);
}

EMU_OWN inline void __barrier_sync(unsigned number, emu::CallSite from = EMU_HERE) {
    emu::named_barrier(number, emu::volume(blockDim), true, from, EMU_SITE);
}

EMU_OWN inline void __barrier_sync_count(unsigned number, unsigned count, emu::CallSite from = EMU_HERE) {
    emu::named_barrier(number, count, true, from, EMU_SITE);
}

EMU_OWN inline int __syncthreads_count(int predicate, emu::CallSite from = EMU_HERE) {
    return static_cast<int>(emu::block_barrier(predicate != 0, from, EMU_SITE).in_favour);
}

EMU_OWN inline int __syncthreads_or(int predicate, emu::CallSite from = EMU_HERE) {
    return emu::block_barrier(predicate != 0, from, EMU_SITE).in_favour != 0;
}

EMU_OWN inline int __syncthreads_and(int predicate, emu::CallSite from = EMU_HERE) {
    emu::Votes votes = emu::block_barrier(predicate != 0, from, EMU_SITE);
    return votes.in_favour == votes.all;
}
