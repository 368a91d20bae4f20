// Claims unreached neighbours. If several threads find one neighbour, an atomic on the neighbour's level lets
// exactly one thread claim it. Searches use this function if no vertex may be in their queues twice.
#pragma once

#include "graph.cuh"

// Number of neighbours that a thread claims at a time. The accesses of one claim depend on each other, so a thread
// overlaps several claims.
#define NEIGHBOURS_AT_A_TIME 4

// Sets the level of each unreached neighbour of v to level + 1, where `level` is the level of v. Calls
// visit(neighbour) for each neighbour that this thread has claimed. With look_first, a thread reads a
// neighbour's level before it claims the neighbour. The read avoids atomics on reached neighbours, but makes
// each claim one dependent access longer.
template <bool look_first, class Visit>
__device__ __forceinline__ void claim_neighbours(const offset_t *row_offsets, const int *column_indices, int *levels,
                                                 int v, int level, Visit visit) {
    const edge_t end = __ldg(&row_offsets[v + 1]);
    for (edge_t e = __ldg(&row_offsets[v]); e < end; e += NEIGHBOURS_AT_A_TIME) {
        int neighbours[NEIGHBOURS_AT_A_TIME];
        bool claimed[NEIGHBOURS_AT_A_TIME];
#pragma unroll
        // Beyond the end of the row, the thread reads the last neighbour again, to avoid a branch.
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            neighbours[k] = __ldg(&column_indices[min(e + k, end - 1)]);
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            // benign race: if the read is stale, the claim fails
            claimed[k] = e + k < end && (!look_first || levels[neighbours[k]] == UNREACHED);
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            if (claimed[k]) claimed[k] = atomicCAS(&levels[neighbours[k]], UNREACHED, level + 1) == UNREACHED;
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            if (claimed[k]) visit(neighbours[k]);
    }
}
