// Push with a thread per vertex (Springer, Fig. 11; PMPP ch. 15, Fig. 15.6). The levels are right. In a graph with a hub
// one thread visits all of its neighbours, and everything else waits for it.
#include "graph.cuh"

extern "C" __global__ void lonely_hub(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                      int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;
            levels[neighbour] = level + 1;  // benign race: all writers store the same value
            *progress = level + 1;          // benign race: all write the same
        }
    }
}
