// push_frontier: vertex-centric push with frontiers (PMPP ch. 15, Fig. 15.12).
//
// The frontier of a level is a queue in global memory. A thread takes a vertex of it, claims the unreached
// neighbours with an atomicCAS on their level, and appends the claimed ones to the next frontier.
//
// Invariant. A vertex is claimed by one thread only, so it enters one frontier once, and a queue of V entries
// cannot overflow. There are no races.
#include "graph.cuh"
#include "queue.cuh"

// sizes[] holds the lengths of the frontiers of levels modulo 3: this level's is read, the next one's is grown,
// and the one after is cleared for the next launch.
extern "C" __global__ void push_frontier(const offset_t *__restrict__ row_offsets,
                                         const int *__restrict__ column_indices, int *levels, int num_vertices,
                                         const int *__restrict__ queue, int *next_queue, int *sizes,
                                         int level) {
    const unsigned frontier_size = sizes[level % 3];
    const vertex_queue next = {next_queue, (unsigned)num_vertices, &sizes[(level + 1) % 3]};
    if (global_thread() == 0) sizes[(level + 2) % 3] = 0;
    for (unsigned i = global_thread(); i < frontier_size; i += grid_threads()) {
        const int v = queue[i];
        const edge_t end = row_offsets[v + 1];
        for (edge_t e = row_offsets[v]; e < end; ++e) {
            const int neighbour = column_indices[e];
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) == UNREACHED) append(next, neighbour);
        }
    }
}
