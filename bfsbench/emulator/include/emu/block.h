// Block barriers. A barrier function gets the place of its call. CUDA does not allow threads of a block to meet
// at different __syncthreads. The emulator's error message names the two places.
#pragma once

#include <cstdint>

#include "state.h"

namespace emu {

// The result of a block barrier.
struct Votes {
    unsigned in_favour;  // threads that passed a true predicate
    unsigned all;        // all threads that met
};
// Waits for all threads of the block that have not exited.
EMU_API Votes block_barrier(bool predicate, CallSite from, const void* site);

EMU_API void grid_barrier(CallSite from);

EMU_API void cluster_arrive();
EMU_API void cluster_wait(CallSite from);
struct ClusterPlace {
    uint3 index, rank;  // index of the cluster in the grid; rank of the block in the cluster
    dim3 blocks;
};
EMU_API ClusterPlace cluster_place();
// Returns the address in another block's shared memory that corresponds to an address in this block's.
EMU_API void* map_shared(void* address, unsigned block_rank);
EMU_API unsigned shared_owner(const void* address);
// Converts between addresses and numbers for the shared memory of a cluster's blocks, as in PTX.
EMU_API uint32_t shared_address(const void* address);
EMU_API void* shared_at(uint32_t number);

}  // namespace emu

EMU_OWN inline void __syncthreads(emu::CallSite from = EMU_HERE) {
    emu::block_barrier(false, from, EMU_SITE);
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
