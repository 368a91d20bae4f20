// Vertices and edges that threads find: of a thread, of a block, of all.
#pragma once

#include "warp.cuh"

// Vertices, and the sum of their degrees.
struct tally {
    edge_t edges;
    unsigned vertices;

    __device__ __forceinline__ void count(edge_t degree) {
        edges += degree;
        ++vertices;
    }
};

// What the warps of a block have found, in shared memory.
struct block_tally {
    tally sum;

    // For the first thread, before a barrier of the block.
    __device__ __forceinline__ void reset() { sum = {0, 0}; }
    // For whole warps.
    __device__ __forceinline__ void add(const tally &found) {
        const tally of_warp = {warp_sum(found.edges), warp_sum(found.vertices)};
        if (threadIdx.x % 32 == 0 && of_warp.vertices > 0) {
            atomicAdd(&sum.edges, of_warp.edges);
            atomicAdd(&sum.vertices, of_warp.vertices);
        }
    }
    // For one thread, after a barrier of the block: add to the tally of all blocks, in global memory.
    __device__ __forceinline__ void add_to(tally &all) const {
        atomicAdd(&all.edges, sum.edges);
        atomicAdd(&all.vertices, sum.vertices);
    }
};
