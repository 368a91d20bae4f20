// edge_frontier_numbers: edge-centric search (Springer, "Breadth-first Search in CUDA", Fig. 17; PMPP, Fig. 15.10).
//
// Each thread takes some of the edges. If the tail of an edge is at the current level, and the head is unreached, the
// head gets the next level. All threads do equal work, whatever the degrees are, but every level reads all E edges.
//
// Races: several threads may find one head unreached; all of them store an equal level. An edge whose tail
// gets level + 1 during the launch is not followed, because level + 1 is not the current level.
#include "graph.cuh"

extern "C" __global__ void edge_frontier_numbers(const int *__restrict__ edge_sources,
                                                 const int *__restrict__ edge_targets, offset_t num_edges,
                                                 int *levels, int *progress, int level) {
    for (edge_t e = global_thread(); e < num_edges; e += grid_threads()) {
        if (levels[edge_sources[e]] != level) continue;
        int head = edge_targets[e];
        if (levels[head] == UNREACHED) {
            levels[head] = level + 1;  // benign race: all writers store the same value
            *progress = level + 1;  // benign race: every thread stores the same value
        }
    }
}
