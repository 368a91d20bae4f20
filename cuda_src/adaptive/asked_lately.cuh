// A hash table, in shared memory, of vertices that threads of the block have lately claimed or are about to
// claim. In web crawls, many rows lead to one vertex. Without the table, every lane that finds the vertex's
// bit still clear sends an atomic to the bitmap. The table avoids most of these atomics. No thread clears the
// table within a search, because a claimed vertex stays reached.
#pragma once

#include "graph.cuh"

template <unsigned size>
struct asked_lately {
    int vertices[size];

    // Empties the table. All threads of the block must call this function once per search, before a barrier
    // of the block.
    __device__ __forceinline__ void reset() {
        for (unsigned i = threadIdx.x; i < size; i += blockDim.x) vertices[i] = -1;
    }
    // Stores in the table the vertices v[k] for which mine[k] is true. If a vertex was in the table before,
    // another thread claims it, so this function sets the vertex's mine[k] to false. The caller must claim
    // the remaining vertices in this level, because other threads skip vertices that they find in the table.
    template <int count>
    __device__ __forceinline__ void keep_others(bool (&mine)[count], const int (&v)[count]) {
        int last[count];
        for (int k = 0; k < count; ++k) last[k] = mine[k] ? atomicExch(&vertices[(unsigned)v[k] % size], v[k]) : -1;
        for (int k = 0; k < count; ++k) mine[k] = mine[k] && last[k] != v[k];
    }
};
