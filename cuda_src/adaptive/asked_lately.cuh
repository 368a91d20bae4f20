// Vertices that the threads of a block have claimed lately, in a hash table in shared memory. In web crawls, many rows
// lead to one vertex. All lanes that look before the vertex's bit is set would send an atomic to one word. The
// table stops most of these atomics. The table is never cleared within a search, because a claimed vertex stays
// reached.
#pragma once

#include "graph.cuh"

template <unsigned size>
struct asked_lately {
    int vertices[size];

    // Empty the table. All threads must call it once per search. A barrier of the block must follow.
    __device__ __forceinline__ void reset() {
        for (unsigned i = threadIdx.x; i < size; i += blockDim.x) vertices[i] = -1;
    }
    // Leave in `mine` only vertices that the table does not hold. The caller must claim them in this level, because
    // other threads skip a vertex that they find in the table.
    template <int count>
    __device__ __forceinline__ void keep_others(bool (&mine)[count], const int (&v)[count]) {
        int last[count];
        for (int k = 0; k < count; ++k) last[k] = mine[k] ? atomicExch(&vertices[(unsigned)v[k] % size], v[k]) : -1;
        for (int k = 0; k < count; ++k) mine[k] = mine[k] && last[k] != v[k];
    }
};
