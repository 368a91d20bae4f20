// Functions that select which of many candidate vertices to expand (Merrill, Garland and Grimshaw 2012). A
// look-up drops vertices that the search has visited. Two heuristics drop most duplicates among the remaining
// vertices.
//
// The host defines the macros ATOMIC_CLAIM and WARP_CULLING (0 or 1), and HISTORY_SIZE (a number of entries,
// a power of two; 0 for no history).
#pragma once

#include "gather.cuh"

constexpr int WARP_TABLE_SIZE = 128;  // number of entries of a warp's table, a power of two

// The marks of visited vertices. A vertex has been visited if its bit is set or if it has a level.
//
// Races: threads set bits without atomics, by writing whole bytes. They read bits through caches that other
// multiprocessors do not update. So a bit may be lost or seen late. In these cases the thread looks at the
// vertex's level. Two threads may both find a vertex without a level, store equal levels and keep the vertex.
// This duplicate costs only time. ATOMIC_CLAIM prevents duplicates. No vertex is lost, because only a thread
// that has found or stored a level sets the vertex's bit.
struct visited_vertices {
    int *levels;
    unsigned char *bits;

    // Replaces each visited vertex in `vertices` by NONE, and gives the remaining vertices the level `level`. With
    // ATOMIC_CLAIM, a vertex that another thread claims at the same time counts as visited.
    template <bool look_at_bits, int n>
    __device__ __forceinline__ void visit(int (&vertices)[n], int level) const {
        int byte[n], found[n];
#pragma unroll
        for (int k = 0; k < n; ++k) byte[k] = look_at_bits && vertices[k] != NONE ? bits[vertices[k] / 8] : 0;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const bool has_bit = byte[k] >> (unsigned)vertices[k] % 8 & 1;
            if (has_bit) vertices[k] = NONE;
            // benign race: if the level is stale, a claim fails or, without ATOMIC_CLAIM, a duplicate stays
            found[k] = vertices[k] != NONE ? __ldcg(&levels[vertices[k]]) : 0;
        }
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const int v = vertices[k];
            if (v == NONE) continue;
            if (found[k] >= 0) {
                vertices[k] = NONE;
            } else if (!ATOMIC_CLAIM) {
                levels[v] = level;  // benign race: all writers store the same value
            } else if (atomicCAS(&levels[v], found[k], level) != found[k]) {
                vertices[k] = NONE;
                continue;  // the thread that has claimed the vertex sets its bit
            }
            // benign race: if a bit gets lost, the vertex's level still says that it was visited
            if (look_at_bits) bits[v / 8] = static_cast<unsigned char>(byte[k] | 1 << v % 8);
        }
    }
};

// A block's tables of recently seen vertices, in shared memory. They help to drop duplicates.
struct duplicate_filter {
    int *warp_table;  // table of the calling thread's warp
    int *history;     // table of the whole block

    // Clears the history. All threads of the block must call the constructor, with memory for the tables of
    // all warps and for the history.
    __device__ __forceinline__ duplicate_filter(int *warp_tables, int *history)
        : warp_table(warp_tables + threadIdx.x / WARP * WARP_TABLE_SIZE), history(history) {
        for (int i = threadIdx.x; i < HISTORY_SIZE; i += blockDim.x) history[i] = NONE;
        __syncthreads();
    }

    // Returns NONE if `vertex` is found to be a duplicate, else `vertex`. A duplicate is a vertex that another lane
    // of the warp holds now, or that the block has recently expanded. Some duplicates are not found. All threads of
    // a warp must call the function.
    //
    // Warp culling finds duplicates within a warp. Lanes write their vertices to a hash table. Lanes that read
    // their own vertex back write their lane numbers to the entry. Among lanes with equal vertices, the lane whose
    // number remains in the entry keeps the vertex. A lane also keeps its vertex if a different vertex has
    // overwritten it in the table.
    //
    // History culling finds vertices that the block has recently expanded. Only a thread that is about to
    // expand a vertex writes it to the history. Two warps may look up a vertex at the same time. Then both
    // warps expand the vertex.
    __device__ __forceinline__ int filter(int vertex) const {
#if WARP_CULLING
        {
            const warp_lanes warp = this_warp();
            int *entry = &warp_table[(unsigned)vertex % WARP_TABLE_SIZE];
            if (vertex != NONE) *entry = vertex;  // benign race between stores: any store may remain
            __syncwarp(warp.mask);
            const bool contends = vertex != NONE && *entry == vertex;
            __syncwarp(warp.mask);
            if (contends) *entry = warp.lane;  // benign race between stores: any store may remain
            __syncwarp(warp.mask);
            if (contends && *entry != warp.lane) vertex = NONE;
            __syncwarp(warp.mask);
        }
#endif
#if HISTORY_SIZE > 0
        if (vertex != NONE) {
            int *entry = &history[vertex % HISTORY_SIZE];
            if (*entry == vertex) return NONE;
            *entry = vertex;  // benign race: the history may lose one of two vertices; a duplicate then passes
        }
#endif
        return vertex;
    }
};
