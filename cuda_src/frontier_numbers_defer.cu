// frontier_numbers_defer: vertices of high degree wait until the end of the level (Springer,
// "Breadth-first Search in CUDA", section 3.3 and Fig. 12).
//
// The level array serves as frontier, as in the kernel frontier_numbers. A frontier vertex of out-degree
// defer_max or more goes to its block's queue in shared memory, so that it does not delay its warp. When the
// block has expanded all other vertices, its threads expand the queued vertices, one vertex per thread. All
// vertices of a warp then have a high degree.
//
// Capacity: the atomic that reserves a place in the queue also tells the thread whether the queue is full. If the
// queue is full, the thread expands the vertex immediately. So `deferred` can exceed queue_size, and the loop over
// vertices needs no barrier.
//
// Races: several threads may find one neighbour unreached; all of them store an equal level.
#include "neighbours.cuh"

extern "C" __global__ void frontier_numbers_defer(const offset_t *__restrict__ row_offsets,
                                                  const int *__restrict__ column_indices, int num_vertices,
                                                  int *levels, int defer_max, int queue_size, int *progress,
                                                  int level) {
    extern __shared__ int queue[];
    __shared__ int deferred;
    if (threadIdx.x == 0) deferred = 0;
    __syncthreads();

    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;
        if (row_offsets[v + 1] - row_offsets[v] >= defer_max) {
            int position = atomicAdd(&deferred, 1);
            if (position < queue_size) {
                queue[position] = v;
                continue;
            }
        }
        expand(row_offsets, column_indices, v, levels, progress, level);
    }
    __syncthreads();

    const int queued = min(deferred, queue_size);
    for (int i = threadIdx.x; i < queued; i += blockDim.x)
        expand(row_offsets, column_indices, queue[i], levels, progress, level);
}
