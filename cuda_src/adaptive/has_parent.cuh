// Functions that look for a parent of a vertex among its in-neighbours. The functions read the bits of
// in-neighbours in a bitmap of reached vertices.
#pragma once

#include "row_parts.cuh"

constexpr int LOOKS = 4;  // bits that a thread reads together; a divisor of WINDOW

// Returns whether any in-neighbour in the window [begin, end) of a row has been reached. With TREE, `parent`
// becomes a reached in-neighbour. Reads of the bitmap limit the speed of a large level, and one of the first
// reads is likely to succeed. So a thread reads only LOOKS bits at a time. The type Graph has the array
// `row_indices` of in-neighbours and its length `row_indices_end`.
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

// Looks for parents in the rows of several lanes. Lanes without a row help to read the rows of the other lanes.
// Each lane passes the unread rest of its row, [at, end), or an empty range. `active` has a bit for each lane
// with a row. For each row, `lanes` lanes read one window of arcs each. Returns whether a reached in-neighbour
// was found in this lane's own row. With TREE, `its_parent` then becomes this in-neighbour. `begins` and
// `lengths` are scratch memory with one number per lane. All lanes of a warp must call this function.
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
