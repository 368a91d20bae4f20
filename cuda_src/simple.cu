// simple: unoptimised vertex-centric search (Springer, Algorithm 2 and Fig. 9).
//
// Every vertex relaxes all its out-neighbours in every iteration, whether or not its own level has changed,
// until an iteration changes nothing: Bellman-Ford with unit weights. There is no frontier.
//
// Races. Levels are read and lowered by all threads at once. A thread may overwrite a lower level by a higher
// one that it computed from an older value. That costs iterations, never correctness: the overwriting thread
// reports progress, so there is a next iteration, which starts from what memory then holds; once all vertices
// of true level k are right when an iteration starts, no thread can improve on them any more, and each lost
// update of a vertex at level k + 1 lowers the set of values that can still be written to it. So they, too,
// become right and stay right.
#include "graph.cuh"

extern "C" __global__ void simple(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                  int num_vertices, int *levels, int *progress, int iteration) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        int level = levels[v];
        if (level == UNREACHED) continue;
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            int neighbour = column_indices[e];
            // As unsigned numbers, UNREACHED is larger than any level.
            if ((unsigned)levels[neighbour] > (unsigned)(level + 1)) {
                levels[neighbour] = level + 1;  // benign race: a later launch corrects a larger level
                *progress = iteration + 1;  // benign race: all write the same
            }
        }
    }
}
