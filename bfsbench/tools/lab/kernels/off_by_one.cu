// Push with the level array as frontier (Springer, "Breadth-first Search in CUDA", Fig. 11; the textbook PMPP, Fig.
// 15.6). The neighbours of vertex v are column_indices[row_offsets[v]] to column_indices[row_offsets[v + 1] - 1].
#include "graph.cuh"

extern "C" __global__ void off_by_one(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                      int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;
        for (offset_t e = row_offsets[v]; e <= row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;
            levels[neighbour] = level + 1;  // benign race: all threads write the same value
            *progress = level + 1;          // benign race: all threads write the same value
        }
    }
}
