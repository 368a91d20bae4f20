// frontier: search with boolean arrays for frontier, updated and visited vertices, and two kernels per level
// (Springer, "Breadth-first Search in CUDA", section 3.1 and Fig. 10; first by Harish and Narayanan 2007).
//
// The kernel `frontier` gives unvisited neighbours of the frontier their level and marks them as updated. The
// kernel `update_flags` marks updated vertices as visited and puts them into the next frontier. If `frontier`
// marked the next frontier directly, threads could expand a vertex in the level that discovers it.
//
// A flag is one byte, as in the paper. A level reads a flag for every vertex, and bytes need a quarter of the
// traffic of ints. Threads can write neighbouring bytes safely.
//
// Races: several threads may find one neighbour unvisited; all of them store an equal level and an equal flag.
// `visited` does not change while `frontier` runs. In `update_flags` a thread accesses only the flags of its own
// vertices, and all threads store an equal value in *progress.
#include "graph.cuh"

extern "C" __global__ void frontier(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                    int num_vertices, int *levels, bool *in_frontier, bool *updated,
                                    const bool *visited) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (!in_frontier[v]) continue;
        in_frontier[v] = false;
        const int next_level = levels[v] + 1;
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            int neighbour = column_indices[e];
            if (!visited[neighbour]) {
                levels[neighbour] = next_level;  // benign race: all writers store the same value
                updated[neighbour] = true;  // benign race: every thread stores the same value
            }
        }
    }
}

extern "C" __global__ void update_flags(int num_vertices, bool *in_frontier, bool *updated, bool *visited,
                                        int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (!updated[v]) continue;
        in_frontier[v] = visited[v] = true;
        updated[v] = false;
        *progress = level + 1;  // benign race: every thread stores the same value
    }
}
