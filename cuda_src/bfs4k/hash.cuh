// Finds duplicates, in shared memory, among vertices that a block discovers at about the same time (Busato
// and Bombieri 2014, section 6). The two methods, hash64 and hash_warp, may miss duplicates. The methods
// never drop all copies of a vertex.
//
// Races: threads write and read the tables without atomics, on purpose. `compute-sanitizer --tool racecheck`
// reports these races: for hash64 between warps of a block, and for hash_warp between lanes that write one
// entry at once. A race only decides which thread's store remains.
#pragma once

#include "search.cuh"

enum class hashing { none, hash64, hash_warp };
constexpr hashing HASHING = hashing::HASH;

// The duplicates that hash64 or hash_warp has found among the calling thread's vertices. Bit k of each member stands
// for vertices[k]. In `detected`, the bits of duplicates are set. In `conflicts`, a bit is set if another
// vertex has overwritten the table entry of the bit's vertex.
struct verdict {
    unsigned detected, conflicts;
};

// Finds duplicates with one table per block. A thread writes each vertex, together with a tag that is unique in
// the block, as one 64-bit word. Then it reads the word back.
//
// - If the thread reads the vertex with another tag, a further copy of the vertex was written later. The thread
// drops its own copy.
// - If the thread reads another vertex, the two vertices share an entry, which is a conflict. The thread keeps its
// copy.
//
// The last writer of a vertex reads its own word or a conflict, so one copy always remains. Entries of earlier
// calls do no harm, because a thread writes an entry before it reads the entry. An aligned 64-bit word is written
// as a whole, so a thread never reads a vertex with the tag of another vertex.
template <int N>
__device__ __forceinline__ verdict hash64(const warp_lanes &warp, volatile unsigned long long *table, int size,
                                          const int (&vertices)[N], unsigned candidates) {
    const unsigned tag = threadIdx.x * N;
    verdict result = {0, 0};
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (candidates >> k & 1)
            // benign race: if several threads write one entry, any of their words may remain
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

// Finds duplicates with one table of 32-bit words per warp (Merrill, Garland and Grimshaw 2012). Each candidate of
// the warp has a tag, a number that no other candidate of the warp has.
//
// - Each lane writes its vertices to the table and reads the entries back. If it reads a different vertex, the two
// vertices share an entry, which is a conflict. The lane keeps its copy.
// - If it reads its own vertex, it writes the vertex's tag to the entry and reads the entry back. If it reads a
// different tag, another lane has the same vertex. The lane then drops its copy.
//
// The barrier at the end of the function is necessary. Without it, the next call could overwrite a tag that a
// lane has not read yet. Then all copies of a vertex could be dropped.
template <int N>
__device__ __forceinline__ verdict hash_warp(const warp_lanes &warp, volatile int *table, int size,
                                             const int (&vertices)[N], unsigned candidates) {
    const int tag = warp.lane * N;
    verdict result = {0, 0};
#pragma unroll
    for (int k = 0; k < N; ++k)
        // benign race between stores: the last store remains
        if (candidates >> k & 1) table[vertices[k] & (size - 1)] = vertices[k];
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (candidates >> k & 1 && table[vertices[k] & (size - 1)] != vertices[k]) result.conflicts |= 1u << k;
    const unsigned found = candidates & ~result.conflicts;
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        // benign race between stores: the last store remains
        if (found >> k & 1) table[vertices[k] & (size - 1)] = tag + k;
    __syncwarp(warp.mask);
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (found >> k & 1 && table[vertices[k] & (size - 1)] != tag + k) result.detected |= 1u << k;
    __syncwarp(warp.mask);
    return result;
}

// Bit k of `candidates` stands for vertices[k]. Returns `candidates` without the bits of the duplicates that a hash
// table finds. All threads of a warp must call this function. `table` belongs to the block and has hash_bytes bytes.
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
