// A barrier of all blocks of a grid, through a word in global memory (Xiao and Feng 2009). All blocks must be
// resident at the same time.
//
// In each use of the barrier, the blocks together add exactly 2^31 to the word. Each block adds 1, except the
// first block, which adds the rest. So the top bit flips when the last block arrives, and all blocks wait for
// this flip. The word need not be reset. The next use may come in this launch or a later launch, by a grid of
// any size.
//
// A block that is not resident never arrives. So each waiting block gives up if it has read the word max_polls + 1
// times and blocks are still missing.
//
// Memory order: a block that has passed the barrier sees all writes that the other blocks made before they arrived.
// The threads of a block first meet in __syncthreads(). Then one thread arrives with a release, and waits with
// acquires, for the whole block.
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

// Returns the phase of the barrier: the top bit of its word. The phase changes when
// the last block arrives, so a block must read the phase before the block arrives.
__device__ __forceinline__ unsigned barrier_phase(const grid_barrier *barrier) {
    return load_acquire(&barrier->arrived) & BARRIER_PHASE;
}

// Returns the number that the block with index `rank` adds to the barrier's word. The numbers of all blocks
// add up to 2^31.
__device__ __forceinline__ unsigned arrival(unsigned rank, unsigned blocks) {
    return rank == 0 ? BARRIER_PHASE - (blocks - 1) : 1u;
}

// Arrives at the barrier on behalf of the calling block. All threads of the block must call the function. The
// host must set the barrier to 0 before its first use, and after a wait that has failed.
__device__ __forceinline__ void arrive_at_barrier(grid_barrier *barrier) {
    __syncthreads();
    if (threadIdx.x == 0) add_release(&barrier->arrived, arrival(blockIdx.x, gridDim.x));
}

// Waits until all blocks have arrived, and returns true. Returns false if blocks are still missing after max_polls
// + 1 polls. The first thread of each block calls the function, after its block has arrived. The caller passes in
// `phase` the barrier's phase before the arrival. On success, `phase` is flipped for the next use of the barrier.
__device__ __forceinline__ bool wait_at_barrier(const grid_barrier *barrier, unsigned &phase, unsigned max_polls) {
    for (unsigned polls = 0; barrier_phase(barrier) == phase; ++polls) {
        if (polls >= max_polls) return false;
        // After a long wait, the thread polls less often, to free memory bandwidth.
        if (polls > 64) __nanosleep(500);
    }
    phase ^= BARRIER_PHASE;
    return true;
}

// Arrives at the barrier and waits for all blocks. All threads of all blocks must call the function. Returns
// whether all blocks arrived; all threads of a block get an equal result.
__device__ __forceinline__ bool wait_for_all_blocks(grid_barrier *barrier, unsigned max_polls) {
    unsigned phase = 0;
    if (threadIdx.x == 0) phase = barrier_phase(barrier);
    arrive_at_barrier(barrier);
    const bool alone = threadIdx.x == 0 && !wait_at_barrier(barrier, phase, max_polls);
    return !__syncthreads_or(alone);
}
