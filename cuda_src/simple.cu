// simple: unoptimised vertex-centric search (Springer, "Breadth-first Search in CUDA", Algorithm 2 and Fig. 9).
//
// In each iteration, every reached vertex sets the level of each out-neighbour to its own level plus one, if that is
// smaller. The search ends after an iteration that changes nothing. So the search is the Bellman-Ford algorithm
// with unit weights. There is no frontier.
//
// Races: all threads read and write levels at the same time. A thread may replace a lower level by a higher level
// that it computed from an old value. The answer stays right, but the search needs more iterations. The thread has
// also reported progress, so another iteration follows. Why the levels become right: let all vertices up to level k
// have their right levels when an iteration starts. No thread can lower them further. Every value that an iteration
// stores for a vertex is smaller than the vertex's value at the start of the iteration. So after some iterations,
// the vertices of level k + 1 also have their right level, and keep it.
#include "graph.cuh"

extern "C" __global__ void simple(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                  int num_vertices, int *levels, int *progress, int iteration) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        int level = levels[v];
        if (level == UNREACHED) continue;
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            int neighbour = column_indices[e];
            // As an unsigned number, UNREACHED is larger than any level.
            if ((unsigned)levels[neighbour] > (unsigned)(level + 1)) {
                levels[neighbour] = level + 1;  // benign race: a later launch corrects a larger level
                *progress = iteration + 1;  // benign race: every thread stores the same value
            }
        }
    }
}
