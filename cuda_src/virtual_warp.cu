// virtual_warp: W_SZ neighbouring threads share a vertex (Springer, "Breadth-first Search in CUDA",
// section 3.5 and Fig. 13; Hong et al. 2011).
//
// A virtual warp has W_SZ threads. It takes W_SZ consecutive vertices, one after another. All its threads test
// whether the vertex is in the frontier (the SISD phase). Then they visit its neighbours together, W_SZ consecutive
// list entries at a time (the SIMD phase). So reads of lists are coalesced, and fewer threads of a warp are idle.
// With W_SZ = 1 the kernel does the work of frontier_numbers.
//
// Races: several threads may find one neighbour unreached; all of them store an equal level. Threads of one
// virtual warp may read different levels of their vertex, while it changes from UNREACHED to level + 1.
// Neither value equals `level`, so all of them skip the vertex.
#include "neighbours.cuh"

extern "C" __global__ void virtual_warp(const offset_t *__restrict__ row_offsets,
                                        const int *__restrict__ column_indices, int num_vertices, int *levels,
                                        int *progress, int level) {
    // The last virtual warp must be complete, too, because a missing thread would leave out neighbours.
    const unsigned items = ((unsigned)num_vertices + W_SZ - 1) / W_SZ * W_SZ;
    for (unsigned item = global_thread(); item < items; item += grid_threads()) {
        unsigned first = item / W_SZ * W_SZ;
        int lane = item % W_SZ;
        for (unsigned v = first; v < first + W_SZ && v < num_vertices; ++v)
            if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level, lane, W_SZ);
    }
}
