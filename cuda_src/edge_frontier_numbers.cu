// edge_frontier_numbers: edge-centric search (Springer, Fig. 17; PMPP, Fig. 15.10).
//
// Every edge whose tail is at the current level gives its head the next one. All threads do equal work for any
// distribution of degrees, but every level reads all E edges.
//
// Races. As in frontier_numbers: concurrent writers of one level write the same value.
#include "graph.cuh"

extern "C" __global__ void edge_frontier_numbers(const int *__restrict__ edge_sources,
                                                 const int *__restrict__ edge_targets, offset_t num_edges,
                                                 int *levels, int *progress, int level) {
    for (edge_t e = global_thread(); e < num_edges; e += grid_threads()) {
        if (levels[edge_sources[e]] != level) continue;
        int head = edge_targets[e];
        if (levels[head] == UNREACHED) {
            levels[head] = level + 1;  // benign race: all writers store the same value
            *progress = level + 1;  // benign race: all write the same
        }
    }
}
