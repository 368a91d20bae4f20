// A barrier between the blocks of a grid, through global memory (Xiao and Feng 2009), for grids that are resident
// as a whole.
//
// All blocks add to one word, together exactly 2^31: each adds one, the first block what is missing. So its top bit
// turns over when the last block arrives, and that is what all wait for. Nothing is left to be reset: the barrier is
// ready for its next use, in the same launch or in a later one, of any grid.
//
// A block that is not resident never arrives. Rather than hang, a block gives up after max_polls looks, and so do
// all that wait with it.
//
// Memory. What a block wrote before it arrived is seen by every block that has passed: all its threads meet in
// __syncthreads() first, and one of them then arrives with release and looks with acquire on behalf of all.
#pragma once

struct grid_barrier {
    unsigned arrived;
};

#define BARRIER_PHASE 0x80000000u

__device__ __forceinline__ void add_release(unsigned *word, unsigned value) {
#ifdef __CUDA_ON_CPU__
    __threadfence();
    atomicAdd(word, value);
#else
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
#endif
}

__device__ __forceinline__ unsigned load_acquire(const unsigned *word) {
#ifdef __CUDA_ON_CPU__
    const unsigned value = *const_cast<const volatile unsigned *>(word);
    __threadfence();
#else
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
#endif
    return value;
}

// The barrier is to be zeroed before its first use, and after a wait in vain.
// To be called by all threads of all blocks. Returns, alike for all threads of a block, whether all blocks came.
__device__ __forceinline__ bool wait_for_all_blocks(grid_barrier *barrier, unsigned max_polls) {
    bool alone = false;
    unsigned before = 0;
    if (threadIdx.x == 0) before = load_acquire(&barrier->arrived);  // the phase cannot change before this block came
    __syncthreads();
    if (threadIdx.x == 0) {
        add_release(&barrier->arrived, blockIdx.x == 0 ? BARRIER_PHASE - (gridDim.x - 1) : 1u);
        unsigned polls = 0;
        while (((load_acquire(&barrier->arrived) ^ before) & BARRIER_PHASE) == 0 && !alone) {
            alone = polls++ >= max_polls;
            if (polls > 64) __nanosleep(500);  // a long wait: leave the memory to those who are waited for
        }
    }
    return !__syncthreads_or(alone);
}
