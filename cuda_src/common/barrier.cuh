// A barrier between the blocks of a grid, through global memory (Xiao and Feng 2009), for grids that are resident
// as a whole.
//
// All blocks add to one word, together exactly 2^31: each adds one, the first block the rest. So its top bit flips
// when the last block arrives, and all blocks wait for that. Nothing has to be reset: the barrier is ready for its
// next use, in the same launch or in a later one, of any grid.
//
// A block that is not resident never arrives. To avoid a hang, a block gives up after max_polls polls, and so do
// all others that wait.
//
// Memory. What a block wrote before it arrived is seen by every block that has passed: all its threads meet in
// __syncthreads() first, and one of them then arrives with release and polls with acquire for all.
#pragma once

struct grid_barrier {
    unsigned arrived;
};

#define BARRIER_PHASE 0x80000000u

__device__ __forceinline__ void add_release(unsigned *word, unsigned value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ void add_release(unsigned long long *word, unsigned long long value) {
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ unsigned load_acquire(const unsigned *word) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ unsigned long long load_acquire(const unsigned long long *word) {
    unsigned long long value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

// The phase of the barrier. It cannot change before all blocks have arrived: read it before the first wait.
__device__ __forceinline__ unsigned barrier_phase(const grid_barrier *barrier) {
    return load_acquire(&barrier->arrived) & BARRIER_PHASE;
}

// What the block of this rank adds.
__device__ __forceinline__ unsigned arrival(unsigned rank, unsigned blocks) {
    return rank == 0 ? BARRIER_PHASE - (blocks - 1) : 1u;
}

// The barrier is to be zeroed before its first use, and after a wait that was given up.
// All threads of the block must call it.
__device__ __forceinline__ void arrive_at_barrier(grid_barrier *barrier) {
    __syncthreads();
    if (threadIdx.x == 0) add_release(&barrier->arrived, arrival(blockIdx.x, gridDim.x));
}

// For the first thread of a block that has arrived: whether all blocks arrived. `phase` is the barrier's phase
// before, and is updated for the next wait.
__device__ __forceinline__ bool wait_at_barrier(const grid_barrier *barrier, unsigned &phase, unsigned max_polls) {
    for (unsigned polls = 0; barrier_phase(barrier) == phase; ++polls) {
        if (polls >= max_polls) return false;
        if (polls > 64) __nanosleep(500);  // a long wait: poll less often, to free memory bandwidth
    }
    phase ^= BARRIER_PHASE;
    return true;
}

// Arrive and wait, for all threads of all blocks. Returns to all threads of a block whether all blocks arrived.
__device__ __forceinline__ bool wait_for_all_blocks(grid_barrier *barrier, unsigned max_polls) {
    unsigned phase = 0;
    if (threadIdx.x == 0) phase = barrier_phase(barrier);
    arrive_at_barrier(barrier);
    const bool alone = threadIdx.x == 0 && !wait_at_barrier(barrier, phase, max_polls);
    return !__syncthreads_or(alone);
}
