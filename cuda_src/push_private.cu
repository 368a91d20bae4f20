// push_private: push with privatised frontiers (PMPP ch. 15, Fig. 15.14).
//
// As push_frontier, but a block appends to a private frontier in shared memory, where its threads contend with
// each other only. When all its vertices are expanded, the block reserves room in the global frontier with one
// atomic and copies the private one there, coalesced.
//
// Invariants. A vertex is claimed by one thread only, so a global frontier of V entries cannot overflow. Vertices
// that do not fit a full private frontier go to the global one at once. There are no races.
#include "graph.cuh"
#include "queue.cuh"

// sizes[] holds the lengths of the global frontiers of levels modulo 3: this level's is read, the next one's is
// grown, and the one after is cleared for the next launch.
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
