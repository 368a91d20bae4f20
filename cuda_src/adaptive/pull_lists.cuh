// Pulling: what a block has at hand, and the order in which its warps come to vertices.
#pragma once

#include "search.cuh"
#include "word_walk.cuh"

typedef word_share_by<MANY_VERTICES ? 8 : 1> word_share;  // a sector of the bitmap, where balance matters less
constexpr int WAITING = 64;  // vertices in the list of a warp: a power of two, at least two words
constexpr int FRESH = 2048 >> WIDE_OFFSETS;  // words of the bitmap that a block works on between two barriers
constexpr int LONG_ROWS = 256;  // that a block sets aside

struct pull_lists {
    offset_t begins[MAX_WARPS][WAITING];
    edge_t degrees[MAX_WARPS][WAITING];
    unsigned slots[MAX_WARPS][WAITING];  // bit of the block's share of the bitmap
    unsigned fresh[FRESH];               // vertices found
    unsigned long_slots[LONG_ROWS];
    offset_t long_rests[LONG_ROWS];      // where to go on
    unsigned num_long;
    block_tally unreached;
};

// The vertices that a warp looks for parents of. The warps of a block take the words of its share of the bitmap in
// turn, and each reads the offsets of a word's vertices one word ahead.
struct candidates {
    const bfs &search;
    const unsigned *visited;
    const pull_lists &lists;
    const word_share &own;
    bool first;  // of the pulled levels of this search
    word_walk at;
    offset_t begin, end;  // the row of this lane's vertex, if it is a candidate

    __device__ __forceinline__ bool read_batch() {
        const unsigned k = at.nth_word(threadIdx.x % 32);
        const bool all_open = MANY_VERTICES && first;
        at.words = k < own.words ? (all_open ? ALL_LANES : search.open[own.word(k)]) & ~visited[own.word(k)] : 0;
        if (LIKELY_FIRST && at.words != 0) at.words &= ~lists.fresh[k];
        at.pending = __ballot_sync(ALL_LANES, at.words != 0);
        return __any_sync(ALL_LANES, k < own.words);
    }
    __device__ __forceinline__ void read_row(unsigned of_slot) {
        const int v = min(own.vertex(of_slot), search.num_vertices - 1);
        begin = __ldg(&search.column_offsets[v]);
        end = __ldg(&search.column_offsets[v + 1]);
    }
    // Note which vertices of the word that has been taken have in-neighbours. All that have not been reached get their
    // level now, and those found a new one soon: so whole sectors are stored.
    __device__ __forceinline__ void open_word() const {
        const unsigned open = __ballot_sync(ALL_LANES, begin < end);
        if (threadIdx.x % 32 == 0) search.open[own.word(at.slot / 32)] = open;
        if (at.current >> threadIdx.x % 32 & 1) search.answer.unreached(own.vertex(at.slot));
    }
    // Take the next word, if there is one; the first if `batch` is the one before the first.
    __device__ __forceinline__ void advance() {
        while (at.pending == 0) {
            ++at.batch;
            if (!read_batch()) {
                at.current = 0;
                return;
            }
        }
        at.take_word();
        read_row(at.slot);
    }
};

// Append to a warp's list those of a taken word that have in-neighbours. Returns how many.
__device__ __forceinline__ unsigned append_candidates(pull_lists &lists, const candidates &next, unsigned tail,
                                                      tally &unreached) {
    const bool wanted = (next.at.current >> threadIdx.x % 32 & 1) && next.begin < next.end;
    const unsigned lanes = __ballot_sync(ALL_LANES, wanted), warp = threadIdx.x / 32;
    if (MANY_VERTICES && next.first) next.open_word();
    const unsigned place = (tail + __popc(lanes & (1u << threadIdx.x % 32) - 1)) % WAITING;
    if (wanted) {
        lists.begins[warp][place] = next.begin;
        lists.degrees[warp][place] = next.end - next.begin;
        lists.slots[warp][place] = next.at.slot;
        unreached.count(next.end - next.begin);
    }
    return __popc(lanes);
}
