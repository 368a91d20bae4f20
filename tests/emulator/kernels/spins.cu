// Blocks that wait for each other.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

struct Barrier {
    unsigned arrived, generation;
};

// The usual hand-written barrier: its spin has neither an atomic nor a fence in it.
__device__ void wait_for_all(Barrier *b) {
    __syncthreads();
    if (threadIdx.x == 0) {
        volatile unsigned *generation = &b->generation;
        unsigned mine = *generation;
        __threadfence();
        if (atomicAdd(&b->arrived, 1) == gridDim.x - 1) {
            b->arrived = 0;
            __threadfence();
            atomicAdd(&b->generation, 1);
        } else {
            while (*generation == mine);
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void volatile_barrier(Barrier *barrier, int *sums, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        atomicAdd(&sums[r], 1);
        wait_for_all(barrier);
        if (*(volatile int *)&sums[r] != (int)(gridDim.x * blockDim.x)) atomicAdd(&sums[rounds], 1);
        wait_for_all(barrier);
    }
}

extern "C" __global__ void grid_sync(int *sums, int rounds) {
    cg::grid_group grid = cg::this_grid();
    for (int r = 0; r < rounds; ++r) {
        atomicAdd(&sums[r], 1);
        grid.sync();
        if (sums[r] != (int)grid.size()) atomicAdd(&sums[rounds], 1);
        grid.sync();
    }
}
