#include "graph.cuh"

extern "C" __global__ void dies(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                            int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            if (levels[column_indices[e]] == UNREACHED) {
                levels[column_indices[e]] = level + 1;
                *progress = level + 1;
            }
        }
    }
}
