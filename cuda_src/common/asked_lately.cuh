// Vertices that the threads of a block have asked for lately, in shared memory. Where many rows lead to one vertex, as
// the pages of a site to its first one, all that look before it is claimed would claim it, one after the other; so of
// each block only some do. What a block has asked for stays reached for the whole search, so nothing need be cleared.
#pragma once

#include "graph.cuh"

template <unsigned size>
struct asked_lately {
    int vertices[size];

    // For all threads, once a search; a barrier of the block follows.
    __device__ __forceinline__ void reset() {
        for (unsigned i = threadIdx.x; i < size; i += blockDim.x) vertices[i] = -1;
    }
    // Leave in `mine` vertices that are not known to have been asked for: the caller claims them in this level.
    template <int count>
    __device__ __forceinline__ void keep_others(bool (&mine)[count], const int (&v)[count]) {
        int last[count];
        for (int k = 0; k < count; ++k) last[k] = mine[k] ? atomicExch(&vertices[(unsigned)v[k] % size], v[k]) : -1;
        for (int k = 0; k < count; ++k) mine[k] = mine[k] && last[k] != v[k];
    }
};
