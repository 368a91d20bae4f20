// frontier_scan: boolean frontier turned into a queue by a prefix sum (Springer, section 3.7 and Fig. 15).
//
// The queue is filled without atomics: a thread that holds a vertex of the frontier finds the vertex's place in the
// queue by counting the frontier's vertices before it, and a prefix sum of the boolean array gives that count to all
// threads at once. A level takes these launches:
//     expand            the queue's vertices give their unvisited neighbours a level and mark them as updated
//     update_frontier   updated vertices become visited, and the frontier; the flags are copied for the scan
//     scan_tiles, add_tile_offsets    the prefix sum, see scan.cuh
//     generate_queue    frontier vertices go to their places
// All but the first read every vertex, so a level costs O(V) even if its frontier is small.
//
// Invariant. As in the paper, whether a vertex is visited is an array of its own, and only update_frontier changes
// it; so expand reads its state at the beginning of the level, and a vertex gets its level in one launch only.
//
// Races. In expand several threads may find the same neighbour unvisited; all write the same level and flag.
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
            updated[neighbour] = true;  // benign race between stores: all write the same
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
