// Push with a private queue per block (the textbook PMPP, Fig. 15.14). A block collects the vertices that it discovers
// in shared memory. Then it reserves room in the next frontier by one atomic addition, and copies them there.
#include "graph.cuh"

#define CAPACITY 64

extern "C" __global__ void missing_barrier(const offset_t *row_offsets, const int *column_indices, int *levels,
                                           int num_vertices, const int *queue, int *next_queue, int *sizes,
                                           int level) {
    __shared__ int found[CAPACITY], count, first;
    const unsigned size = sizes[level % 3];
    int *next_size = &sizes[(level + 1) % 3];
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (unsigned i = global_thread(); i < size; i += grid_threads()) {
        const int v = queue[i];
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) != UNREACHED) continue;
            const int place = atomicAdd(&count, 1);
            if (place < CAPACITY) found[place] = neighbour;
            else next_queue[atomicAdd(next_size, 1)] = neighbour;
        }
    }
    __syncthreads();
    const int kept = min(count, CAPACITY);
    if (threadIdx.x == 0) first = atomicAdd(next_size, kept);
    for (int i = threadIdx.x; i < kept; i += blockDim.x) next_queue[first + i] = found[i];
}
