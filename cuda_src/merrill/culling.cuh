// Which of many candidates are to be expanded (Merrill, Garland and Grimshaw 2012): a lookup removes visited ones,
// and two heuristics remove most of the duplicates among the rest.
//
// The host defines ATOMIC_CLAIM and WARP_CULLING (0 or 1), WARP_TABLE_SIZE (entries of a warp's table) and HISTORY_SIZE
// (entries; 0 for no history). Sizes are powers of two.
#pragma once

#include "gather.cuh"

// A vertex has been visited if its bit is set, or else if it has a level.
//
// Races. Bits are set without atomics, by writing whole bytes, and read through caches that other multiprocessors
// do not update: a bit may be lost or seen late, and then the level decides. Two threads may both find a vertex
// without a level and write the same one; both keep the vertex, which costs time only, and does not happen with
// ATOMIC_CLAIM. No vertex is lost: a bit is set by threads that have found or written a level.
struct visited_vertices {
    int *levels;
    unsigned char *bits;

    // Of the vertices, keep those that have not been visited, give them a level, and make the others NONE.
    template <bool look_at_bits, int n>
    __device__ __forceinline__ void visit(int (&vertices)[n], int level) const {
        int byte[n], found[n];
#pragma unroll
        for (int k = 0; k < n; ++k) byte[k] = look_at_bits && vertices[k] != NONE ? bits[vertices[k] / 8] : 0;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const bool has_bit = byte[k] >> (unsigned)vertices[k] % 8 & 1;
            if (has_bit) vertices[k] = NONE;
            // benign race: with ATOMIC_CLAIM, a stale level is corrected by the claim
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
                continue;  // the thread that has claimed it sets the bit
            }
            // benign race: a bit that is lost is found in the levels
            if (look_at_bits) bits[v / 8] = static_cast<unsigned char>(byte[k] | 1 << v % 8);
        }
    }
};

// A block's tables of recent vertices, in shared memory.
struct duplicate_filter {
    int *warp_table;  // the warp's own
    int *history;     // the block's

    // For all threads of the block, with shared memory for the tables of all warps and for the history.
    __device__ __forceinline__ duplicate_filter(int *warp_tables, int *history)
        : warp_table(warp_tables + threadIdx.x / WARP * WARP_TABLE_SIZE), history(history) {
        for (int i = threadIdx.x; i < HISTORY_SIZE; i += blockDim.x) history[i] = NONE;
        __syncthreads();
    }

    // The vertex, or NONE if another thread has, or had, the same one to expand. For all threads of a warp.
    //
    // Warp culling finds the duplicates within a warp: threads write their vertices to a hash table; those that find
    // their own vertex there, possibly several with the same, write their numbers; one of each such group remains.
    // Vertices overwritten in the table by others are kept.
    //
    // History culling finds vertices that the block has expanded shortly before. An entry is written only by a
    // thread that goes on to expand the vertex. Two warps may pass at the same time; then both expand it.
    __device__ __forceinline__ int filter(int vertex) const {
#if WARP_CULLING
        {
            const warp_lanes warp = this_warp();
            int *entry = &warp_table[(unsigned)vertex % WARP_TABLE_SIZE];
            if (vertex != NONE) *entry = vertex;  // benign race between stores: any may remain
            __syncwarp(warp.mask);
            const bool contends = vertex != NONE && *entry == vertex;
            __syncwarp(warp.mask);
            if (contends) *entry = warp.lane;  // benign race between stores: any may remain
            __syncwarp(warp.mask);
            if (contends && *entry != warp.lane) vertex = NONE;
            __syncwarp(warp.mask);
        }
#endif
#if HISTORY_SIZE > 0
        if (vertex != NONE) {
            int *entry = &history[vertex % HISTORY_SIZE];
            if (*entry == vertex) return NONE;
            *entry = vertex;  // benign race: one of the two vertices is lost, which is harmless
        }
#endif
        return vertex;
    }
};
