// A barrier between the blocks of a grid, through global memory (Xiao and Feng 2009), for grids that are resident
// as a whole.
//
// A block arrives by counting up; the last to arrive resets the count and starts a new generation, which is what
// the others wait for. So the barrier is ready for its next use, in the same launch or in a later one.
//
// A block that is not resident never arrives. Rather than hang, a block gives up after max_polls looks at the
// generation: it marks the barrier as broken, and every block leaves its kernel at this barrier or the next one.
//
// Memory. What a block wrote before it arrived is seen by every block that has passed: all its threads meet in
// __syncthreads() first, and one thread then fences on behalf of all. The fence after the wait does the same for
// reading.
#pragma once

struct grid_barrier {
    unsigned arrived;
    unsigned generation;  // its top bit marks a barrier that has been given up
};

#define BARRIER_BROKEN 0x80000000u

// To be zeroed by the host, or a kernel before, ahead of at most 2^31 - 1 uses.
// To be called by all threads of all blocks. Returns, alike for all threads of a block, whether all blocks came.
__device__ __forceinline__ bool wait_for_all_blocks(grid_barrier *barrier, unsigned max_polls) {
    bool broken = false;
    __syncthreads();
    if (threadIdx.x == 0) {
        const volatile unsigned *current = &barrier->generation;
        const unsigned generation = *current;  // before arriving: from then on it may change
        __threadfence();
        if (atomicAdd(&barrier->arrived, 1u) == gridDim.x - 1) {
            barrier->arrived = 0;
            __threadfence();
            atomicAdd(&barrier->generation, 1u);
            broken = generation & BARRIER_BROKEN;
        } else {
            unsigned polls = 0, now = generation;
            while (now == generation && !(now & BARRIER_BROKEN) && polls++ < max_polls) now = *current;
            if (now == generation) atomicOr(&barrier->generation, BARRIER_BROKEN);
            broken = now == generation || (now & BARRIER_BROKEN);
        }
        __threadfence();
    }
    return !__syncthreads_or(broken);
}
