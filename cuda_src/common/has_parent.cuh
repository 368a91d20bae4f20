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

// For few rows, those of the lanes `active`: whether there is a parent in the first windows of the rest [at, end). So
// many lanes look at each row, each at a window. For whole warps, with room for a number for each lane, twice.
template <class Graph>
__device__ __forceinline__ bool has_parent_together(const Graph &graph, const unsigned *visited, offset_t *begins,
                                                    edge_t *lengths, edge_t at, edge_t end, unsigned active,
                                                    unsigned lanes, int &its_parent) {
    const unsigned lane = threadIdx.x % 32, rank = __popc(active & (1u << lane) - 1);
    if (at < end) {
        begins[rank] = at;
        lengths[rank] = end - at;
    }
    __syncwarp();
    bool found = false;
    int parent = 0;
    if (lane / lanes < __popc(active)) {
        const edge_t begin = begins[lane / lanes], its_end = begin + lengths[lane / lanes];
        const edge_t mine = lane % lanes == 0 ? begin : window_end(begin, its_end) + (lane % lanes - 1) * WINDOW;
        if (mine < its_end) found = has_parent(graph, visited, mine, window_end(mine, its_end), parent);
    }
    const unsigned finders = __ballot_sync(ALL_LANES, found);
    if (TREE) {
        const unsigned first = at < end ? rank * lanes : 0;
        its_parent = __shfl_sync(ALL_LANES, parent, (first + __ffs(finders >> first | 1u << 31) - 1) % 32);
    }
    return at < end && (finders >> rank * lanes & ALL_LANES >> (32 - lanes));
}
