// Push with one warp per vertex (Springer, "Breadth-first Search in CUDA", section 3.5, Fig. 13). The lanes share the
// neighbours of a vertex evenly, and the levels are right. But the warp reads the row in an order that wastes most of
// the bytes that it fetches.
#include "graph.cuh"

extern "C" __global__ void uncoalesced(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                       int *levels, int *progress, int level) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned v = global_thread() / 32; v < num_vertices; v += grid_threads() / 32) {
        if (levels[v] != level) continue;
        const offset_t begin = row_offsets[v], end = row_offsets[v + 1];
        const offset_t share = (end - begin + 31) / 32;
        for (offset_t e = begin + lane * share; e < min(end, begin + (lane + 1) * share); ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;
            levels[neighbour] = level + 1;  // benign race: all threads write the same value
            *progress = level + 1;          // benign race: all threads write the same value
        }
    }
}
