// Definitions that all files of bfs4k share: a search, its counters and its rows.
#pragma once

#include "graph.cuh"
#include "warp.cuh"

// State of a search that kernels and the host share. The frontier of a level has sizes[level % 3] entries,
// duplicates included, in queue(level). A level adds to the size of the next level's frontier, which was cleared
// before, and clears the size of the frontier two levels ahead. children[level % 2] counts the child kernels that a
// level requests. A level adds to its own count and clears the count of the next level.
struct search_state {
    int level;  // the level whose frontier the next launch expands
    int sizes[3];
    int children[2];
};

// The counters of each level, which kernels keep if COUNTERS is 1. The documentation of Bfs4k.counters
// explains them.
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
    missed,  // number of vertices for which no queue had room; the host finds them again in the level array
    number  // number of counters
};
}

// The arrays and settings of a search, and the level that it expands. Kernels create the object from their
// parameters.
struct search_context {
    const offset_t *row_offsets;
    const int *column_indices;
    int *levels;
    int *even_queue, *odd_queue;
    int capacity;  // number of entries of a queue; the queue's size also counts vertices that found no room
    search_state *state;
    unsigned long long *counters;  // counted::number counters for each level; kernels add to them
    int k1, k3, k4, k7;
    int child_degree;  // child kernels expand rows of at least this degree
    int hash_bytes;    // size of a block's hash table in bytes
    int level;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
    __device__ __forceinline__ int *size(int level) const { return &state->sizes[level % 3]; }
    __device__ __forceinline__ void count(counted::counter what, unsigned amount = 1) const {
        if (COUNTERS && amount > 0) atomicAdd(&counters[level * counted::number + what], amount);
    }
};

// The adjacency list of a vertex: the index of its first neighbour in column_indices, and its length.
struct adjacency {
    edge_t begin;
    unsigned degree;
};

__device__ __forceinline__ adjacency row_of(const search_context &search, int v) {
    const edge_t begin = __ldg(&search.row_offsets[v]);
    return {begin, static_cast<unsigned>(__ldg(&search.row_offsets[v + 1]) - begin)};
}

__device__ __forceinline__ int floor_power_of_2(int x) { return 1 << (31 - __clz(x)); }
