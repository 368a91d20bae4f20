// A function that makes a bitmap of the vertices that have arcs.
#pragma once

#include "graph.cuh"

// Fills the bitmap: a vertex with arcs has the bit 1, and a vertex without arcs has the bit 0. The bits after the
// last vertex become 1. Calls without(v) for each vertex v without arcs. `warps` whole warps of the grid must call
// this function, and `warp` is the index of the calling warp among them. A warp has loads for WORDS words of the
// bitmap in flight together.
template <class Without>
__device__ __forceinline__ void mark_rows(const offset_t *offsets, unsigned num_vertices, unsigned *bitmap,
                                          unsigned warp, unsigned warps, Without without) {
    constexpr int WORDS = 4;
    const unsigned words = (num_vertices + 31) / 32, lane = threadIdx.x % 32;
    for (unsigned first = warp; first < words; first += WORDS * warps) {
        bool marked[WORDS];
        for (int k = 0; k < WORDS; ++k) {
            const unsigned w = first + k * warps, v = w * 32 + lane;
            const bool there = w < words && v < num_vertices;
            marked[k] = !there || __ldg(&offsets[v]) < __ldg(&offsets[v + 1]);
        }
        for (int k = 0; k < WORDS; ++k) {
            const unsigned w = first + k * warps, bits = __ballot_sync(ALL_LANES, marked[k]);
            if (!marked[k]) without(w * 32 + lane);
            if (lane == 0 && w < words) bitmap[w] = bits;
        }
    }
}
