// Counts of vertices and edges that threads find.
#pragma once

#include "warp.cuh"

// The number of vertices in a set, and the sum of their degrees: out-degrees after a push, in-degrees after a pull.
struct tally {
    edge_t edges;
    unsigned vertices;

    __device__ __forceinline__ void count(edge_t degree) {
        edges += degree;
        ++vertices;
    }
};

// The sum of the tallies of a block's threads, in shared memory.
struct block_tally {
    tally sum;

    // Clears the sum. One thread calls this function, before a barrier of the block.
    __device__ __forceinline__ void reset() { sum = {0, 0}; }
    // Adds each lane's tally to the sum. All lanes of a warp must call this function. The function adds
    // nothing if the warp found no vertices.
    __device__ __forceinline__ void add(const tally &found) {
        const tally of_warp = {warp_sum(found.edges), warp_sum(found.vertices)};
        if (threadIdx.x % 32 == 0 && of_warp.vertices > 0) {
            atomicAdd(&sum.edges, of_warp.edges);
            atomicAdd(&sum.vertices, of_warp.vertices);
        }
    }
    // Adds the sum to a tally in global memory. One thread calls this function, after a barrier of the block.
    __device__ __forceinline__ void add_to(tally &all) const {
        atomicAdd(&all.edges, sum.edges);
        atomicAdd(&all.vertices, sum.vertices);
    }
};
