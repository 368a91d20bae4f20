// Pull (the textbook PMPP, Fig. 15.8). A thread with an unreached vertex looks for an in-neighbour at the current
// level. The levels are right, but the kernel reads several times as much of the graph as it needs.
#include "graph.cuh"

extern "C" __global__ void needless_reads(const offset_t *column_offsets, const int *row_indices, int num_vertices,
                                          int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != UNREACHED) continue;
        bool found = false;
        for (offset_t e = column_offsets[v]; e < column_offsets[v + 1]; ++e)
            if (levels[row_indices[e]] == level) found = true;
        if (!found) continue;
        levels[v] = level + 1;  // benign race: neither value equals the level that other threads look for
        *progress = level + 1;  // benign race: all threads write the same value
    }
}
