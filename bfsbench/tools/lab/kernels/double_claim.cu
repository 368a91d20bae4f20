// Push with a queue (the textbook PMPP, Fig. 15.12). Each vertex must enter the next frontier only once, even if
// several neighbours find it. In this kernel it may enter several times, although the queue has room for each vertex
// only once.
#include "graph.cuh"

extern "C" __global__ void double_claim(const offset_t *row_offsets, const int *column_indices, int *levels,
                                        int num_vertices, const int *queue, int *next_queue, int *sizes, int level) {
    const unsigned size = sizes[level % 3];
    int *next_size = &sizes[(level + 1) % 3];
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    for (unsigned i = global_thread(); i < size; i += grid_threads()) {
        const int v = queue[i];
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;
            levels[neighbour] = level + 1;
            next_queue[atomicAdd(next_size, 1)] = neighbour;
        }
    }
}
