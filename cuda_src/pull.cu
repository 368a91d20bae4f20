// pull: vertex-centric bottom-up search (the textbook PMPP, Fig. 15.8).
//
// Each unreached vertex looks for an in-neighbour (CSC) at the current level, and stops when it has found
// one. Only the vertex's own thread writes its level, so there is no contention. A level costs much while
// most vertices are unreached, and little when few vertices are unreached.
//
// Races: a thread may read the level of an in-neighbour while another thread changes it from UNREACHED to
// level + 1. Neither value equals `level`, so the result does not depend on the order.
#include "neighbours.cuh"

extern "C" __global__ void pull(const offset_t *__restrict__ column_offsets, const int *__restrict__ row_indices,
                                int num_vertices, int *levels, int *progress, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] == UNREACHED && has_parent(column_offsets, row_indices, v, levels, level)) {
            levels[v] = level + 1;  // benign race: neither value equals `level`, which readers look for
            *progress = level + 1;  // benign race: every thread stores the same value
        }
    }
}
