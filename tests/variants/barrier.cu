// Kernels whose blocks meet at a barrier, or of which one block does not come.
#include "barrier.cuh"

// In every round, each thread counts itself, waits at the barrier, and checks that all threads have counted.
extern "C" __global__ void meet(grid_barrier *barrier, int *counts, int *missed, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        atomicAdd(&counts[round], 1);
        bool all_came = wait_for_all_blocks(barrier, 1 << 26);
        if (!all_came || atomicAdd(&counts[round], 0) != gridDim.x * blockDim.x) atomicAdd(missed, 1);
    }
}

// Block `absent` leaves before the given round. The others note the round in which they learned of it.
extern "C" __global__ void leave(grid_barrier *barrier, int *left_in, int absent, int last_round, int rounds) {
    int round = 0;
    while (round < rounds) {
        if (blockIdx.x == absent && round == last_round) break;
        if (!wait_for_all_blocks(barrier, 1 << 18)) break;
        ++round;
    }
    left_in[blockIdx.x * blockDim.x + threadIdx.x] = round;
}
