// What the parts of bfs4k share: a search, its counters, warps and rows.
#pragma once

#include "graph.cuh"
#include "warp.cuh"

// State shared by launches and the host. The frontier of a level is sizes[level % 3] vertices, duplicates included,
// in queue(level). A level adds to the size of the next one, which is 0 before, and clears that of the one after;
// the same holds for the number of requested child kernels, children[level % 2], of the level itself and of the
// next.
struct search_state {
    int level;  // whose frontier is to be expanded next
    int sizes[3];
    int children[2];
};

// The counters of each level, if COUNTERS is 1; Bfs4k.counters has their meanings.
namespace counted {
enum counter {
    entries,
    detected,
    conflicts,
    children,
    child_blocks,
    refused,
    single_block_levels,
    multi_block_levels,
    edge_discover_levels,
    virtual_warp_levels,
    coalesced_read_levels,
    virtual_warp_threads,
    warp_steps,
    binary_sums,
    shuffle_sums,
    coalesced_writes,
    edge_searches,
    extended_rows,
    missed,  // left to the host
    number  // of counters
};
}

// Everything about a search that its functions need, and the level they expand.
struct search_context {
    const offset_t *row_offsets;
    const int *column_indices;
    int *levels;
    int *even_queue, *odd_queue;
    int capacity;  // entries of a queue; an overflow is counted in its size
    search_state *state;
    unsigned long long *counters;  // counted::number for each level, added to while it is expanded
    int k1, k3, k4, k7;
    int child_degree;  // rows of at least this degree go to child kernels
    int hash_bytes;    // of a block's hash table
    int level;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
    __device__ __forceinline__ int *size(int level) const { return &state->sizes[level % 3]; }
    __device__ __forceinline__ void count(counted::counter what, unsigned amount = 1) const {
        if (COUNTERS && amount > 0) atomicAdd(&counters[level * counted::number + what], amount);
    }
};

// The adjacency list of a vertex.
struct adjacency {
    edge_t begin;
    unsigned degree;
};

__device__ __forceinline__ adjacency row_of(const search_context &search, int v) {
    const edge_t begin = __ldg(&search.row_offsets[v]);
    return {begin, static_cast<unsigned>(__ldg(&search.row_offsets[v + 1]) - begin)};
}

__device__ __forceinline__ int floor_power_of_2(int x) { return 1 << (31 - __clz(x)); }
