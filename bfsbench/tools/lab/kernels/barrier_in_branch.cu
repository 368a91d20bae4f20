// Push with one queue per block (Springer, "Breadth-first Search in CUDA", section 3.6, Fig. 14). In every round a
// block takes as many vertices as it has threads, and then empties its queue into the next frontier. In the last round,
// some threads get no vertex.
#include "graph.cuh"

#define CAPACITY 64

extern "C" __global__ void barrier_in_branch(const offset_t *row_offsets, const int *column_indices, int *levels,
                                             int num_vertices, const int *queue, int *next_queue, int *sizes,
                                             int level) {
    __shared__ int found[CAPACITY], count, first;
    const unsigned size = sizes[level % 3];
    int *next_size = &sizes[(level + 1) % 3];
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (unsigned begin = blockIdx.x * blockDim.x; begin < size; begin += grid_threads()) {
        const unsigned i = begin + threadIdx.x;
        if (i < size) {
            const int v = queue[i];
            for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
                const int neighbour = column_indices[e];
                if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) != UNREACHED) continue;
                const int place = atomicAdd(&count, 1);
                if (place < CAPACITY) found[place] = neighbour;
                else next_queue[atomicAdd(next_size, 1)] = neighbour;
            }
            __syncthreads();
        }
        const int kept = min(count, CAPACITY);
        if (threadIdx.x == 0) first = atomicAdd(next_size, kept);
        __syncthreads();
        for (int k = threadIdx.x; k < kept; k += blockDim.x) next_queue[first + k] = found[k];
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
    }
}
