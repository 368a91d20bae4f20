// edge_simple: unoptimised edge-centric search (Springer, section 4.1 and Fig. 16).
//
// Every edge relaxes its head in every iteration, whether or not its tail's level has changed, until an iteration
// changes nothing. There is no frontier. The difference from simple is that all threads do equal work.
//
// Races. As in simple: a higher level may overwrite a lower one for some iterations, but its writer has reported
// progress, so the search goes on until no edge changes a level.
#include "graph.cuh"

extern "C" __global__ void edge_simple(const int *__restrict__ edge_sources, const int *__restrict__ edge_targets,
                                       offset_t num_edges, int *levels, int *progress, int iteration) {
    for (edge_t e = global_thread(); e < num_edges; e += grid_threads()) {
        const int level = levels[edge_sources[e]];
        if (level == UNREACHED) continue;
        const int head = edge_targets[e];
        // As unsigned numbers, UNREACHED is larger than any level.
        if ((unsigned)levels[head] > (unsigned)(level + 1)) {
            levels[head] = level + 1;  // benign race: a later launch corrects a larger level
            *progress = iteration + 1;  // benign race: all write the same
        }
    }
}
