// frontier_queue: block queues and a global queue (Springer, "Breadth-first Search in CUDA", section 3.6, Fig. 14).
//
// A block collects discovered vertices in a queue in shared memory. At the end of every round of its outer
// loop, it appends this queue to the global queue with a single global atomic. The next level takes its
// vertices from the global queue.
//
// Races: two threads may find one neighbour unreached. Then both threads store an equal level, and both put
// the vertex into the next queue. Expanding both copies costs time and can produce further duplicates.
//
// Capacities: vertices that do not fit the block's queue go to the global queue. With duplicates the global
// queue can need more than its V entries. Vertices that do not fit are counted but not stored. When the host
// reads a count above the capacity, it rebuilds the queue from the level array, without duplicates.
#include "graph.cuh"
#include "queue.cuh"
#include "rebuild.cuh"

// Expands one level. sizes[level % 3] is the length of this level's queue. The kernel adds to the length of
// the next level's queue, and clears the length of the queue two levels ahead.
extern "C" __global__ void frontier_queue(const offset_t *__restrict__ row_offsets,
                                          const int *__restrict__ column_indices, int *levels, unsigned capacity,
                                          unsigned block_queue_size, const int *__restrict__ queue,
                                          int *next_queue, int *sizes, int level) {
    extern __shared__ int block_entries[];
    __shared__ int block_size;

    const unsigned input_size = sizes[level % 3];
    const vertex_queue block_queue = {block_entries, block_queue_size, &block_size};
    const vertex_queue global_queue = {next_queue, capacity, &sizes[(level + 1) % 3]};
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    if (threadIdx.x == 0) block_size = 0;
    __syncthreads();

    // The loop's bounds are equal for all threads of a block, so that all threads of the block meet at the
    // barriers.
    for (unsigned base = blockIdx.x * blockDim.x; base < input_size; base += grid_threads()) {
        if (base + threadIdx.x < input_size) {
            const int v = queue[base + threadIdx.x];
            const edge_t end = row_offsets[v + 1];
            for (edge_t e = row_offsets[v]; e < end; ++e) {
                int neighbour = column_indices[e];
                if (levels[neighbour] != UNREACHED) continue;
                levels[neighbour] = level + 1;  // benign race: all writers store the same value
                if (!append(block_queue, neighbour)) append(global_queue, neighbour);
            }
        }
        flush(block_queue, global_queue);
    }
}
