// frontier_scan: a prefix sum turns flags into a queue (Springer, "Breadth-first Search in CUDA", section 3.7, Fig. 15).
//
// The kernels fill the queue without atomics. The place of a frontier vertex in the queue is the number of
// frontier vertices before it. A prefix sum of the boolean array gives this number to all threads. A level
// has these launches:
//
// - expand gives unvisited neighbours of the queue's vertices a level, and marks them as updated.
// - update_frontier marks updated vertices as visited and as the frontier, and copies the flags for the prefix sum.
// - scan_tiles and add_tile_offsets compute the prefix sum (scan.cuh).
// - generate_queue puts each frontier vertex into its place in the queue.
//
// All these kernels except `expand` take every vertex, so a level costs O(V) even if its frontier is small.
//
// Invariant: as in the paper, `visited` is an array of its own, which only update_frontier changes. So
// `expand` sees the state before the level, and only one launch gives a vertex its level.
//
// Races: in `expand` several threads may find one neighbour unvisited; all of them store an equal level and
// an equal flag.
#include "graph.cuh"
#include "scan.cuh"

extern "C" __global__ void expand(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                  const int *__restrict__ queue, const bool *__restrict__ visited, bool *updated,
                                  int *levels, int queue_size, int level) {
    for (unsigned i = global_thread(); i < queue_size; i += grid_threads()) {
        const int v = queue[i];
        const edge_t end = row_offsets[v + 1];
        for (edge_t e = row_offsets[v]; e < end; ++e) {
            const int neighbour = column_indices[e];
            if (visited[neighbour]) continue;
            levels[neighbour] = level + 1;  // benign race: all writers store the same value
            updated[neighbour] = true;  // benign race between stores: every thread stores the same value
        }
    }
}

extern "C" __global__ void update_frontier(int num_vertices, bool *updated, bool *visited, bool *in_frontier,
                                           int *prefix_sum) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const bool reached = updated[v];
        if (reached) visited[v] = true;
        prefix_sum[v] = in_frontier[v] = reached;
        updated[v] = false;
    }
}

extern "C" __global__ void generate_queue(int num_vertices, const int *__restrict__ prefix_sum,
                                          const bool *__restrict__ in_frontier, int *queue, int *queue_size) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (in_frontier[v]) queue[prefix_sum[v]] = v;
        if (v == num_vertices - 1) *queue_size = prefix_sum[v] + in_frontier[v];
    }
}
