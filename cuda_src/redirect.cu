// redirect: vertices taken in order of out-degree (Springer, section 3.4).
//
// jobs[] lists all vertices by out-degree, so that the threads of a warp have vertices of similar degree, while the
// graph is unchanged. The kernel is that of frontier_numbers with this one look-up added. Compared with reorder it
// saves renumbering the graph, but reads of levels and row offsets are not coalesced.
//
// Races. As in frontier_numbers.
#include "neighbours.cuh"

extern "C" __global__ void redirect(const int *__restrict__ jobs, const offset_t *__restrict__ row_offsets,
                                    const int *__restrict__ column_indices, int num_vertices, int *levels,
                                    int *progress, int level) {
    for (unsigned job = global_thread(); job < num_vertices; job += grid_threads()) {
        const int v = jobs[job];
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
    }
}
