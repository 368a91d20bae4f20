// frontier: boolean frontier, updated and visited arrays, two kernels a level (Springer, section 3.1 and Fig. 10;
// the search of Harish and Narayanan 2007).
//
// The first kernel gives the unvisited neighbours of the frontier their level and marks them as updated; the second
// turns updated vertices into visited ones and into the next frontier. If the first kernel marked the frontier
// directly, a thread could expand a vertex that another has just discovered.
//
// A flag is a byte, as in the paper: a level reads one for every vertex, and bytes are a quarter of the traffic of
// ints. Different threads can safely write neighbouring bytes.
//
// Races. Several threads may find the same neighbour unvisited; all write the same level and the same flag.
// `visited`, which is read for other vertices, does not change during the first kernel; a thread of the second
// accesses only its own vertex.
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
                updated[neighbour] = true;  // benign race: all write the same
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
        *progress = level + 1;  // benign race: all write the same
    }
}
