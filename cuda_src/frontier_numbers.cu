// frontier_numbers: level array as frontier (Springer, Fig. 11; PMPP, Fig. 15.6).
//
// A vertex is in the frontier when its level equals the current one, so one array serves as levels, frontier
// and visited marks, and one kernel launch is one level.
//
// Races. Several threads may find the same neighbour unreached and write its level; all write the same value. A
// neighbour that gets level + 1 during this launch is not treated as a frontier vertex, since its level does not
// equal level.
//
// reorder (Springer, section 3.4) is this kernel on a graph that the host has renumbered by out-degree, so that the
// threads of a warp have vertices of similar degree, with new ids in row_offsets, column_indices and levels.
#include "neighbours.cuh"

extern "C" __global__ void frontier_numbers(const offset_t *__restrict__ row_offsets,
                                            const int *__restrict__ column_indices, int num_vertices, int *levels,
                                            int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
}
