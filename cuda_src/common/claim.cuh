// Claiming neighbours, for searches whose queues hold every vertex once.
#pragma once

#include "graph.cuh"

// Neighbours of a vertex that are worked on at a time. Claiming one is a chain of dependent accesses, so several
// chains are kept in flight.
#define NEIGHBOURS_AT_A_TIME 4

// Give the unreached neighbours of v, which is at this level, the next one, and call visit(neighbour) for those
// that no other thread has claimed. With look_first only neighbours that are read as unreached are claimed: this
// saves atomic operations, but adds an access to the chain.
template <bool look_first, class Visit>
__device__ __forceinline__ void claim_neighbours(const offset_t *row_offsets, const int *column_indices, int *levels,
                                                 int v, int level, Visit visit) {
    const edge_t end = __ldg(&row_offsets[v + 1]);
    for (edge_t e = __ldg(&row_offsets[v]); e < end; e += NEIGHBOURS_AT_A_TIME) {
        int neighbours[NEIGHBOURS_AT_A_TIME];
        bool claimed[NEIGHBOURS_AT_A_TIME];
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)  // past the end, repeat the last one to avoid a branch
            neighbours[k] = __ldg(&column_indices[min(e + k, end - 1)]);
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            // benign race: a stale read is corrected by the claim
            claimed[k] = e + k < end && (!look_first || levels[neighbours[k]] == UNREACHED);
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            if (claimed[k]) claimed[k] = atomicCAS(&levels[neighbours[k]], UNREACHED, level + 1) == UNREACHED;
#pragma unroll
        for (int k = 0; k < NEIGHBOURS_AT_A_TIME; ++k)
            if (claimed[k]) visit(neighbours[k]);
    }
}
