// redirect: takes vertices in order of out-degree (Springer, "Breadth-first Search in CUDA", section 3.4).
//
// jobs[] lists all vertices by out-degree, so that the threads of a warp have vertices of similar degree. The
// graph itself is unchanged. Apart from the look-up in jobs[], the kernel equals frontier_numbers. The
// variant `reorder` renumbers the graph instead. The kernel redirect needs no renumbering, but its reads of
// levels and row offsets are not coalesced.
//
// Races: several threads may find one neighbour unreached; all of them store an equal level.
#include "neighbours.cuh"

extern "C" __global__ void redirect(const int *__restrict__ jobs, const offset_t *__restrict__ row_offsets,
                                    const int *__restrict__ column_indices, int num_vertices, int *levels,
                                    int *progress, int level) {
    for (unsigned job = global_thread(); job < num_vertices; job += grid_threads()) {
        const int v = jobs[job];
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
    }
}
