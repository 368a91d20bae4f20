// A limit to the edges of what all blocks find together: once it is passed, nothing more need be queued.
#pragma once

#include "atomics.cuh"
#include "warp.cuh"

// A block's share in the limit. It tells the others of every `unit` edges, of which UNITS are its share; the limit is
// passed when all have told more than `most_units` of these. So the row of a hub alone decides nothing.
struct edge_share {
    static constexpr unsigned UNITS = 4;

    unsigned unit, most_units;

    // Of one of some blocks, in a limit to so many edges.
    __device__ __forceinline__ static edge_share of(float edges, unsigned blocks) {
        return {1 + (unsigned)fminf(__fdividef(edges, (float)(blocks * UNITS)), 1e9f), blocks * UNITS};
    }
    __device__ __forceinline__ static edge_share unlimited() { return {ALL_LANES, ALL_LANES}; }
};

// How many edges a block has found, in shared memory. What blocks have told each other is the member `queued_units` of
// a frontier, in global memory.
template <class Frontier>
struct edge_limit {
    static constexpr unsigned MOST_EDGES = 1u << 20;  // of a row, as counted by warps

    unsigned edges;
    volatile unsigned told;  // units, by all blocks when this one told the others last: a hint, of any of its warps
    edge_share share;
    volatile int passed;

    // For one thread of the block.
    __device__ __forceinline__ void reset(const edge_share &its) { edges = told = 0, share = its, passed = 0; }
    // For whole warps: count the edges of each lane's row. Returns, alike for all lanes, whether the limit was passed
    // before.
    __device__ __forceinline__ bool count(edge_t of_row, Frontier &next) {
        const bool leads = threadIdx.x % 32 == 0;  // and reads for all lanes what it may set itself
        if (__any_sync(ALL_LANES, leads && passed)) return true;
        const unsigned sum = warp_sum((unsigned)min(of_row, (edge_t)MOST_EDGES));
        if (leads && sum > 0) tell(atomicAdd(&edges, sum), sum, next);
        return false;
    }
    // For one thread of the block: all edges that it has found so far. Returns whether others have been told of some.
    __device__ __forceinline__ bool count_all(edge_t so_far, Frontier &next) {
        const unsigned now = (unsigned)min(so_far, (edge_t)1 << 31), before = edges;
        edges = now;
        return now > before && tell(before, now - before, next);
    }
    // For one thread of the block that has just told the others: whether all together have passed the limit since. It
    // is worth a wait if this block has had its share, since blocks come to this at about the same time.
    __device__ __forceinline__ void look_again(const Frontier &next) {
        const unsigned looks = edges / edge_share::UNITS >= share.unit ? 2 : told > share.most_units / 2;
#pragma unroll 1
        for (unsigned i = 0; i < looks && !passed; ++i)
            if (load_relaxed(&next.queued_units) > share.most_units) passed = 1;
    }
    __device__ __forceinline__ bool tell(unsigned before, unsigned more, Frontier &next) {
        if (more < share.unit && before % share.unit + more < share.unit) return false;
        const unsigned units = (before % share.unit + more) / share.unit;
        const unsigned all = atomicAdd(&next.queued_units, units) + units;
        told = all;
        if (all > share.most_units) passed = 1;
        return true;
    }
};
