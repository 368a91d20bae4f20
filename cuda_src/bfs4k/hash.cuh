// Duplicates among the vertices a block discovers at about the same time, detected in shared memory (section 6 of
// the paper). Either method may miss some; neither ever drops all copies of a vertex.
//
// Races. The tables are written and read without atomics, on purpose: `compute-sanitizer --tool racecheck` reports
// them, for hash64 between warps of a block (a write of one and a write or read of another), for hash_warp between
// lanes that write to the same entry in the same step. A race decides only which write is the last.
#pragma once

#include "search.cuh"

enum class hashing { none, hash64, hash_warp };
constexpr hashing HASHING = hashing::HASH;

// Sets of the calling thread's vertices, a bit for each.
struct verdict {
    unsigned detected, conflicts;
};

// hash64: one table a block. A thread writes the vertex together with a tag of its own, as one 64-bit word, and
// reads it back. The same vertex with another tag: another thread has it and wrote later, so this copy is dropped.
// Another vertex: a conflict, and the copy is kept. The last writer of a vertex reads its own word or a conflict;
// so a copy remains for any order of warps, and old entries do no harm. Aligned 64-bit words are written as a
// whole, so a vertex is never read with the tag of another one.
template <int N>
__device__ __forceinline__ verdict hash64(const warp_lanes &warp, volatile unsigned long long *table, int size,
                                          const int (&vertices)[N], unsigned candidates) {
    const unsigned tag = threadIdx.x * N;
    verdict result = {0, 0};
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (candidates >> k & 1)
            // benign race: any of them may remain, for any reader
            table[vertices[k] & (size - 1)] = static_cast<unsigned long long>(vertices[k]) << 32 | (tag + k);
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (!(candidates >> k & 1)) continue;
        const unsigned long long entry = table[vertices[k] & (size - 1)];
        if (static_cast<int>(entry >> 32) != vertices[k])
            result.conflicts |= 1u << k;
        else if (static_cast<unsigned>(entry) != tag + k)
            result.detected |= 1u << k;
    }
    return result;
}

// hash_warp: a table a warp, in two steps of 32 bits (Merrill, Garland and Grimshaw 2012, the paper's reference
// 16). Lanes write their vertices and read them back; those that find their own then write their tags and read
// these back. If the next call's vertices overwrote a tag that has not been read, the remaining copy would be lost.
// The barrier at the end prevents this.
template <int N>
__device__ __forceinline__ verdict hash_warp(const warp_lanes &warp, volatile int *table, int size,
                                             const int (&vertices)[N], unsigned candidates) {
    const int tag = warp.lane * N;
    verdict result = {0, 0};
#pragma unroll
    for (int k = 0; k < N; ++k)
        // benign race between stores: the last one remains
        if (candidates >> k & 1) table[vertices[k] & (size - 1)] = vertices[k];
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (candidates >> k & 1 && table[vertices[k] & (size - 1)] != vertices[k]) result.conflicts |= 1u << k;
    const unsigned found = candidates & ~result.conflicts;
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        // benign race between stores: the last one remains
        if (found >> k & 1) table[vertices[k] & (size - 1)] = tag + k;
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (found >> k & 1 && table[vertices[k] & (size - 1)] != tag + k) result.detected |= 1u << k;
    __syncwarp(warp.mask);
    return result;
}

// For all threads of a warp. Of vertices[k] with bit k set in `candidates`, returns those to keep. `table` is the
// block's, of hash_bytes bytes.
template <int N>
__device__ __forceinline__ unsigned drop_duplicates(const search_context &search, const warp_lanes &warp, void *table,
                                                    const int (&vertices)[N], unsigned candidates) {
    verdict result = {0, 0};
    if (HASHING == hashing::hash64) {
        auto entries = static_cast<unsigned long long *>(table);
        result = hash64(warp, entries, search.hash_bytes / 8, vertices, candidates);
    } else if (HASHING == hashing::hash_warp) {
        const int warps = (blockDim.x + 31) / 32, size = floor_power_of_2(search.hash_bytes / 4 / warps);
        int *entries = static_cast<int *>(table) + threadIdx.x / 32 * size;
        result = hash_warp(warp, entries, size, vertices, candidates);
    }
    search.count(counted::conflicts, __popc(result.conflicts));
    search.count(counted::detected, __popc(result.detected));
    return candidates & ~result.detected;
}
