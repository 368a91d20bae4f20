// Functions that push or pull a level, for searches in which the level array is the frontier.
#pragma once

#include "graph.cuh"

// Sets the level of unreached out-neighbours of v to level + 1, where `level` is the level of v (the push
// direction). If a neighbour was unreached, *progress becomes level + 1, too. `width` threads share v: each
// thread takes every width-th neighbour, from index `lane` on. The loop counter is unsigned because its last
// addition may pass 2^31. Several threads may find one neighbour unreached. All of them write an equal level.
__device__ __forceinline__ void expand(const offset_t *__restrict__ row_offsets,
                                       const int *__restrict__ column_indices, int v, int *levels, int *progress,
                                       int level, int lane = 0, int width = 1) {
    const edge_t end = row_offsets[v + 1];
    for (edge_t e = row_offsets[v] + (edge_t)lane; e < end; e += width) {
        int neighbour = column_indices[e];
        if (levels[neighbour] == UNREACHED) {
            levels[neighbour] = level + 1;  // benign race: all writers store the same value
            *progress = level + 1;  // benign race: every thread stores the same value
        }
    }
}

// Returns whether an in-neighbour of v is at the level `level`. This is the pull direction. At
// the same time, another thread may change an in-neighbour's level from UNREACHED to level +
// 1. Neither value equals `level`, so the result does not depend on the order of the accesses.
__device__ __forceinline__ bool has_parent(const offset_t *__restrict__ column_offsets,
                                           const int *__restrict__ row_indices, int v, const int *levels,
                                           int level) {
    const edge_t end = column_offsets[v + 1];
    for (edge_t e = column_offsets[v]; e < end; ++e)
        if (levels[row_indices[e]] == level) return true;
    return false;
}
