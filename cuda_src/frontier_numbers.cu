// frontier_numbers: the level array is the frontier (Springer, "Breadth-first Search in CUDA", Fig. 11; PMPP, Fig. 15.6).
//
// A vertex is in the frontier if its level equals the current level. So the level array also replaces the
// marks of visited vertices, and one launch runs one level.
//
// Races: several threads may find one neighbour unreached; all of them store an equal level. This launch does
// not expand a neighbour that gets level + 1 in this launch, because its level differs from the current
// level.
//
// The variant `reorder` (section 3.4) runs this kernel on a graph whose vertices the host has renumbered by
// out-degree. So the threads of a warp have vertices of similar degree.
#include "neighbours.cuh"

extern "C" __global__ void frontier_numbers(const offset_t *__restrict__ row_offsets,
                                            const int *__restrict__ column_indices, int num_vertices, int *levels,
                                            int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
}
