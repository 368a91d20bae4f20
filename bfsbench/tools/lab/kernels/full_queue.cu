// Push with a private queue per block (Springer, "Breadth-first Search in CUDA", Fig. 14; the textbook PMPP, Fig.
// 15.14). The queue in shared memory has CAPACITY entries. In a graph with hubs, a block discovers more vertices.
#include "graph.cuh"

#define CAPACITY 32

extern "C" __global__ void full_queue(const offset_t *row_offsets, const int *column_indices, int *levels,
                                      int num_vertices, const int *queue, int *next_queue, int *sizes, int level) {
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
            found[place] = neighbour;
        }
    }
    __syncthreads();
    const int kept = count;
    if (threadIdx.x == 0) first = atomicAdd(next_size, kept);
    __syncthreads();
    for (int i = threadIdx.x; i < kept; i += blockDim.x) next_queue[first + i] = found[i];
}
