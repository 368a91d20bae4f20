// push_frontier: vertex-centric push with a queue as frontier (the textbook PMPP, Fig. 15.12).
//
// The frontier of a level is a queue in global memory. A thread takes a vertex from the queue and claims
// unreached neighbours with an atomicCAS of their level. The thread appends the neighbours that it has
// claimed to the next frontier.
//
// Only one thread claims a vertex, so the vertex enters one frontier, once. So a queue of V entries cannot
// overflow. There are no races.
#include "graph.cuh"
#include "queue.cuh"

// Expands one level. sizes[level % 3] is the length of this level's frontier. The kernel adds to the length
// of the next level's frontier, and clears the length of the frontier two levels ahead.
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
