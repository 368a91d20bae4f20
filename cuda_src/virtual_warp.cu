// virtual_warp: W_SZ neighbouring threads share a vertex (Springer, section 3.5 and Fig. 13; Hong et al. 2011).
//
// A virtual warp has as many consecutive vertices as threads and takes them one after the other. All its threads
// test whether a vertex is in the frontier (the SISD phase); then they visit its neighbours together (the SIMD
// phase), W_SZ consecutive entries of the adjacency list at a time. Idle threads within a warp are reduced to a
// W_SZ-th part, and the list is read coalesced. W_SZ = 1 is frontier_numbers.
//
// Races. As in frontier_numbers. Threads of one virtual warp may see different values for the vertex they
// share only while its level changes from UNREACHED to level + 1; neither equals level.
#include "neighbours.cuh"

extern "C" __global__ void virtual_warp(const offset_t *__restrict__ row_offsets,
                                        const int *__restrict__ column_indices, int num_vertices, int *levels,
                                        int *progress, int level) {
    // Whole virtual warps, also at the end: a missing thread would leave out its share of the neighbours.
    const unsigned items = ((unsigned)num_vertices + W_SZ - 1) / W_SZ * W_SZ;
    for (unsigned item = global_thread(); item < items; item += grid_threads()) {
        unsigned first = item / W_SZ * W_SZ;
        int lane = item % W_SZ;
        for (unsigned v = first; v < first + W_SZ && v < num_vertices; ++v)
            if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level, lane, W_SZ);
    }
}
