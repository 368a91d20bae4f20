// Push with a queue (the textbook PMPP, Fig. 15.12). Each thread takes a vertex of the frontier, claims its unreached
// neighbours and appends them to the next frontier. But some of these neighbours are missing from the next frontier.
#include "graph.cuh"

extern "C" __global__ void lost_update(const offset_t *row_offsets, const int *column_indices, int *levels,
                                       int num_vertices, const int *queue, int *next_queue, int *sizes, int level) {
    const unsigned size = sizes[level % 3];
    int *next_size = &sizes[(level + 1) % 3];
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    for (unsigned i = global_thread(); i < size; i += grid_threads()) {
        const int v = queue[i];
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) != UNREACHED) continue;
            const int place = *next_size;
            *next_size = place + 1;
            next_queue[place] = neighbour;
        }
    }
}
