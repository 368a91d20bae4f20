// A barrier of all blocks of a grid, through global memory (Xiao and Feng 2009). All blocks must be resident together.
//
// The blocks together add exactly 2^31 to one word. Each block adds 1, except the first block, which adds the
// rest. So the top bit flips when the last block arrives, and all blocks wait for this flip. The word need not
// be reset. The barrier is ready for its next use, in this launch or a later one, by a grid of any size.
//
// A block that is not resident never arrives. Each waiting block therefore gives up after max_polls polls.
//
// Memory order: a block that has passed the barrier sees everything that any block wrote before its arrival.
// The threads of a block first meet in __syncthreads(). Then one thread arrives with release, and polls with
// acquire, for the whole block.
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

// Returns the phase of the barrier. The phase changes when the last block arrives, so a block must read it
// before the block arrives.
__device__ __forceinline__ unsigned barrier_phase(const grid_barrier *barrier) {
    return load_acquire(&barrier->arrived) & BARRIER_PHASE;
}

// Returns the number that the block with index `rank` adds.
__device__ __forceinline__ unsigned arrival(unsigned rank, unsigned blocks) {
    return rank == 0 ? BARRIER_PHASE - (blocks - 1) : 1u;
}

// Arrive at the barrier. All threads of the block must call it. The host must set the barrier to 0 before its
// first use, and after a wait that gave up.
__device__ __forceinline__ void arrive_at_barrier(grid_barrier *barrier) {
    __syncthreads();
    if (threadIdx.x == 0) add_release(&barrier->arrived, arrival(blockIdx.x, gridDim.x));
}

// Wait until all blocks have arrived. The first thread of a block that has arrived calls it. Returns false
// after max_polls polls. `phase` is the phase before the arrival, and is updated for the next wait.
__device__ __forceinline__ bool wait_at_barrier(const grid_barrier *barrier, unsigned &phase, unsigned max_polls) {
    for (unsigned polls = 0; barrier_phase(barrier) == phase; ++polls) {
        if (polls >= max_polls) return false;
        if (polls > 64) __nanosleep(500);  // a long wait: poll less often, to free memory bandwidth
    }
    phase ^= BARRIER_PHASE;
    return true;
}

// Arrive and wait. All threads of all blocks must call it. Returns whether all blocks arrived, with one result
// for all threads of a block.
__device__ __forceinline__ bool wait_for_all_blocks(grid_barrier *barrier, unsigned max_polls) {
    unsigned phase = 0;
    if (threadIdx.x == 0) phase = barrier_phase(barrier);
    arrive_at_barrier(barrier);
    const bool alone = threadIdx.x == 0 && !wait_at_barrier(barrier, phase, max_polls);
    return !__syncthreads_or(alone);
}
