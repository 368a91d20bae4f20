// reorder: vertices renumbered by out-degree (Springer, section 3.4).
//
// The host renumbers the graph, so that the threads of a warp are given vertices of like degree. The kernel is that
// of frontier_numbers, with new ids throughout: in row_offsets, column_indices and levels.
//
// Races. As in frontier_numbers.
#include "neighbours.cuh"

extern "C" __global__ void reorder(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                   int num_vertices, int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
}
