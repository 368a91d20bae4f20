// Looking for a parent among in-neighbours, with a bitmap of reached vertices.
#pragma once

#include "row_parts.cuh"

constexpr int LOOKS = 4;  // that a thread makes together: a divisor of WINDOW

// Whether a vertex of this window of a row has been reached; with TREE, also which. They are looked at bit by bit,
// since looks are what a large level is bound by, and only a few together, since the first are likely to be enough.
// Graph has the in-neighbours, `row_indices`, and where they end, `row_indices_end`.
template <class Graph>
__device__ __forceinline__ bool has_parent(const Graph &graph, const unsigned *visited, edge_t begin, edge_t end,
                                           int &parent) {
    int rows[WINDOW];
    const part window = {(offset_t)begin, (int)(end - begin)};
    const unsigned mine = load_window(graph.row_indices, graph.row_indices_end, window, rows);
#pragma unroll
    for (int first = 0; first < WINDOW; first += LOOKS) {
        bool any = false;
#pragma unroll
        for (int k = first; k < first + LOOKS; ++k)
            if (mine >> k & 1) {
                const unsigned reached = visited[rows[k] / 32u] >> rows[k] % 32 & 1;
                any |= reached;
                if (TREE && reached) parent = rows[k];
            }
        if (any) return true;
    }
    return false;
}
