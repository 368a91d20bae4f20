// A limit on the number of edges that all blocks together queue in a step. If the blocks find more edges, the
// next level is pulled, so the blocks stop queueing.
#pragma once

#include "atomics.cuh"
#include "warp.cuh"

// A limit on edges, divided equally among the blocks. A block's share of the limit is UNITS * unit edges. A
// block reports each time it has found another `unit` edges. The limit is passed when all blocks together have
// made more than `most_units` reports.
struct edge_share {
    static constexpr unsigned UNITS = 4;

    unsigned unit, most_units;

    // Returns shares that divide a limit of `edges` edges equally among `blocks` blocks.
    __device__ __forceinline__ static edge_share of(float edges, unsigned blocks) {
        return {1 + (unsigned)fminf(__fdividef(edges, (float)(blocks * UNITS)), 1e9f), blocks * UNITS};
    }
    __device__ __forceinline__ static edge_share unlimited() { return {ALL_LANES, ALL_LANES}; }
};

// Counts, in shared memory, the edges that a block has found. Reports them to all blocks, in units of
// edge_share: the member `queued_units` of a Frontier, in global memory, is the sum of all reports.
template <class Frontier>
struct edge_limit {
    // A row of more than MOST_EDGES edges counts as MOST_EDGES edges, so that the sum of a warp fits 32 bits.
    static constexpr unsigned MOST_EDGES = 1u << 20;

    unsigned edges;
    // The number of units that all blocks had reported when this block last reported units. Several warps may
    // store this hint at about the same time. This race is harmless, because the hint only decides whether
    // look_again() reads `queued_units`.
    volatile unsigned told;
    edge_share share;
    // True if this block knows that the limit is passed. The block then stops queueing. Warps race on this
    // flag: a warp that misses the new value queues entries that no step reads. Only reset() clears the flag.
    // `volatile` makes each read and write of the flag one memory access.
    volatile int passed;

    // Sets the count of edges to 0. One thread of the block calls this function, before a barrier of the
    // block.
    __device__ __forceinline__ void reset(const edge_share &its) { edges = told = 0, share = its, passed = 0; }
    // Adds the edges of each lane's row to the count. All lanes of a warp must call this function. Returns, in
    // all lanes, whether the limit had been passed before the call. In that case the function counts nothing.
    __device__ __forceinline__ bool count(edge_t of_row, Frontier &next) {
        // One lane reads `passed` for the warp, so that all lanes agree.
        const bool leads = threadIdx.x % 32 == 0;
        if (__any_sync(ALL_LANES, leads && passed)) return true;
        const unsigned sum = warp_sum((unsigned)min(of_row, (edge_t)MOST_EDGES));
        if (leads && sum > 0) tell(atomicAdd(&edges, sum), sum, next);
        return false;
    }
    // Sets the count of edges to `so_far`, the number of edges that this block has found
    // in the step. If this completes further units of `share.unit` edges, reports these
    // units to all blocks and returns true. One thread of the block calls this function.
    __device__ __forceinline__ bool count_all(edge_t so_far, Frontier &next) {
        const unsigned now = (unsigned)min(so_far, (edge_t)1 << 31), before = edges;
        edges = now;
        return now > before && tell(before, now - before, next);
    }
    // Checks again whether all blocks together have passed the limit, because other blocks may
    // have reported edges since this block's last report. If this block has found its whole share
    // of edges, the function checks twice. Else, if more than half of the limit was used up at
    // this block's last report, it checks once. One thread of the block calls this function.
    __device__ __forceinline__ void look_again(const Frontier &next) {
        const unsigned looks = edges / edge_share::UNITS >= share.unit ? 2 : told > share.most_units / 2;
#pragma unroll 1
        for (unsigned i = 0; i < looks && !passed; ++i)
            if (load_relaxed(&next.queued_units) > share.most_units) passed = 1;
    }
    // Reports to all blocks that this block's count of edges has grown from `before` by `more`. If
    // this completes units of `share.unit` edges, adds the number of these units to `queued_units`
    // and returns true. Sets `passed` if all blocks together have passed the limit.
    __device__ __forceinline__ bool tell(unsigned before, unsigned more, Frontier &next) {
        if (more < share.unit && before % share.unit + more < share.unit) return false;
        const unsigned units = (before % share.unit + more) / share.unit;
        const unsigned all = atomicAdd(&next.queued_units, units) + units;
        told = all;
        if (all > share.most_units) passed = 1;
        return true;
    }
};
