#include "neighbours.cuh"

extern "C" __global__ void scribbles(const offset_t *row_offsets, int *column_indices, int num_vertices, int *levels,
                                     int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
    if (global_thread() || level) return;
    int v = 0;
    while (row_offsets[v + 1] - row_offsets[v] < 2) ++v;
    int *row = column_indices + row_offsets[v];
    if (row[0] < row[1]) {
        const int first = row[0];
        row[0] = row[1];
        row[1] = first;
    }
}

extern "C" __global__ void vandal(const offset_t *row_offsets, int *column_indices, int num_vertices, int *levels,
                                  int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
    for (unsigned v = global_thread(); v < num_vertices && level; v += grid_threads())
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) column_indices[e] = 0;
}
