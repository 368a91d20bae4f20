// Push with a queue (the textbook PMPP, Fig. 15.12). The levels are right. But every discovered vertex costs an atomic
// addition to one word in global memory, for which all threads of the device compete.
#include "graph.cuh"

extern "C" __global__ void busy_counter(const offset_t *row_offsets, const int *column_indices, int *levels,
                                        int num_vertices, const int *queue, int *next_queue, int *sizes, int level) {
    const unsigned size = sizes[level % 3];
    int *next_size = &sizes[(level + 1) % 3];
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    for (unsigned i = global_thread(); i < size; i += grid_threads()) {
        const int v = queue[i];
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) != UNREACHED) continue;
            next_queue[atomicAdd(next_size, 1)] = neighbour;
        }
    }
}
