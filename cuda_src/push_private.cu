// push_private: push with one private frontier per block (the textbook PMPP, Fig. 15.14).
//
// Threads take vertices from a global frontier and claim their unreached neighbours with an atomicCAS. A
// block appends claimed vertices to a private frontier in shared memory, so only its own threads contend.
// When a block has expanded all its vertices, it reserves room in the global frontier with one atomic. It
// copies its private frontier there with coalesced stores.
//
// Invariants: only one thread claims a vertex, so a global frontier of V entries cannot overflow. If a
// private frontier is full, further vertices go directly to the global frontier. There are no races.
#include "graph.cuh"
#include "queue.cuh"

// Expands one level. sizes[level % 3] is the length of this level's frontier. The kernel adds to the length
// of the next level's frontier, and clears the length of the frontier two levels ahead.
extern "C" __global__ void push_private(const offset_t *__restrict__ row_offsets,
                                        const int *__restrict__ column_indices, int *levels, int num_vertices,
                                        unsigned local_capacity, const int *__restrict__ queue, int *next_queue,
                                        int *sizes, int level) {
    extern __shared__ int local_frontier[];
    __shared__ int local_size;
    const unsigned frontier_size = sizes[level % 3];
    const vertex_queue local = {local_frontier, local_capacity, &local_size};
    const vertex_queue next = {next_queue, (unsigned)num_vertices, &sizes[(level + 1) % 3]};
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    if (threadIdx.x == 0) local_size = 0;
    __syncthreads();
    for (unsigned i = global_thread(); i < frontier_size; i += grid_threads()) {
        const int v = queue[i];
        const edge_t end = row_offsets[v + 1];
        for (edge_t e = row_offsets[v]; e < end; ++e) {
            const int neighbour = column_indices[e];
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) == UNREACHED && !append(local, neighbour))
                append(next, neighbour);
        }
    }
    flush(local, next);
}
