// parents: computes the parents of a breadth-first tree from the levels of a finished search.
//
// A vertex at level l > 0 takes its first in-neighbour (CSC) at level l - 1 as parent. A vertex at level 0 is its
// own parent. An unreached vertex gets NO_PARENT, which the host defines. A thread writes only the parents of its
// own vertices, so there is no contention. For a given graph, the tree depends only on the levels, not on the
// search or the launch.
#include "graph.cuh"

extern "C" __global__ void parents(const offset_t *__restrict__ column_offsets, const int *__restrict__ row_indices,
                                   int num_vertices, const int *__restrict__ levels, int *parents) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const int level = levels[v];
        int parent = level == 0 ? (int)v : NO_PARENT;
        if (level > 0) {
            const edge_t end = column_offsets[v + 1];
            for (edge_t e = column_offsets[v]; e < end && parent == NO_PARENT; ++e)
                if (levels[row_indices[e]] == level - 1) parent = row_indices[e];
        }
        parents[v] = parent;
    }
}
