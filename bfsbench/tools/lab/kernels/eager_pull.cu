// Pull (the textbook PMPP, Fig. 15.8). A thread with an unreached vertex looks for an in-neighbour from which the
// vertex can be reached, and stops at the first. One launch computes one level.
#include "graph.cuh"

extern "C" __global__ void eager_pull(const offset_t *column_offsets, const int *row_indices, int num_vertices,
                                      int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != UNREACHED) continue;
        for (offset_t e = column_offsets[v]; e < column_offsets[v + 1]; ++e) {
            if (levels[row_indices[e]] == UNREACHED) continue;
            levels[v] = level + 1;  // benign race: neither value equals the level that other threads look for
            *progress = level + 1;  // benign race: all threads write the same value
            break;
        }
    }
}
