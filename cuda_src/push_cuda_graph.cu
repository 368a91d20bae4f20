// push_cuda_graph: the search of the kernel frontier_numbers, with launches that a CUDA graph repeats.
//
// A CUDA graph repeats its launches with equal arguments. So the only argument of a launch is its place in
// the CUDA graph. The level of the launch is the sum of this place and of a word in memory. Before each launch of
// the CUDA graph, the host sets this word to the first level of the CUDA graph.
//
// The search may end in the middle of a CUDA graph. *progress is the last level that has a vertex. The remaining
// launches find that *progress is smaller than their level, and return at once.
//
// Races: a thread may read *progress while another thread of this launch sets it to level + 1. Both the old and the
// new value let the thread continue. The races of frontier_numbers occur here, too.
#include "neighbours.cuh"

extern "C" __global__ void push_cuda_graph(const offset_t *__restrict__ row_offsets,
                                           const int *__restrict__ column_indices, int num_vertices, int *levels,
                                           const int *__restrict__ first_level, int *progress, int place) {
    const int level = *first_level + place;
    if (*progress < level) return;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) expand(row_offsets, column_indices, v, levels, progress, level);
}
