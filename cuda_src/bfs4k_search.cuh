// What the parts of bfs4k share: a search, its counters, warps and rows.
#pragma once

#include "graph.cuh"

// What launches tell each other, and the host. The frontier of a level is sizes[level % 3] vertices, duplicates
// included, in queue(level). A level adds to the size of the next one, which is 0 before, and clears that of the
// one after.
struct search_state {
    int level;  // whose frontier is to be expanded next
    int sizes[3];
};

// What is counted if COUNTERS is 1. bfsbench/variants/bfs4k.py has the names, in the same order.
enum counter {
    ENTRIES,              // vertices put into frontiers
    DETECTED,             // duplicates dropped
    CONFLICTS,            // vertices kept because another one has taken their place in the hash table
    CHILDREN,             // child kernels launched
    CHILD_BLOCKS,         // and their blocks
    REFUSED,              // child kernels refused by the device
    SINGLE_BLOCK_LEVELS,  // levels by kernel
    MULTI_BLOCK_LEVELS,
    EDGE_DISCOVER_LEVELS,  // levels by technique
    VIRTUAL_WARP_LEVELS,
    COALESCED_READ_LEVELS,  // those of VIRTUAL_WARP_LEVELS whose rows are read by whole warps
    VIRTUAL_WARP_THREADS,   // sum of the virtual warps' sizes over VIRTUAL_WARP_LEVELS
    BINARY_SUMS,            // prefix sums of warps
    SHUFFLE_SUMS,
    COALESCED_WRITE_OUTS,  // times that a warp wrote to the next frontier in induced coalescence
    EDGE_SEARCHES,         // times that a warp searched for the rows of its edges
    EXTENDED_ROWS          // rows that EXT finished without a search
};

// Everything about a search that its functions need, and the level they expand.
struct search_context {
    const offset_t *row_offsets;
    const int *column_indices;
    int *levels;
    int *even_queue, *odd_queue;
    int capacity;  // entries of a queue; what it cannot hold is counted in its size
    search_state *state;
    unsigned long long *counters;
    int k1, k3, k4, k7;
    int child_degree;  // rows of at least this degree go to child kernels
    int hash_bytes;    // of a block's hash table
    int level;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
    __device__ __forceinline__ int *size(int level) const { return &state->sizes[level % 3]; }
    __device__ __forceinline__ void count(counter what, unsigned amount = 1) const {
        if (COUNTERS && amount > 0) atomicAdd(&counters[what], amount);
    }
};

// The calling thread's warp. A block need not consist of whole warps: its last one may have fewer lanes.
struct warp_lanes {
    int lane, lanes;
    unsigned mask;
};

__device__ __forceinline__ warp_lanes this_warp() {
    const int lane = threadIdx.x % 32, lanes = min(32u, blockDim.x - (threadIdx.x - lane));
    return {lane, lanes, ~0u >> (32 - lanes)};
}

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

// Exclusive prefix sum over the lanes of a warp by shuffles (Fig. 3 of the paper), for all of them. `total` gets
// the sum.
template <class T>
__device__ __forceinline__ T warp_prefix_sum(const warp_lanes &warp, T value, T &total) {
    T sum = value;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_up_sync(warp.mask, sum, distance);
        if (warp.lane >= distance) sum += other;
    }
    total = __shfl_sync(warp.mask, sum, warp.lanes - 1);
    return sum - value;
}
