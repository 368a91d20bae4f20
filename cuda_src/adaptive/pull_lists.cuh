// The shared memory of a block that pulls, and the order in which its warps take vertices.
#pragma once

#include "search.cuh"
#include "word_walk.cuh"

// Blocks own runs of RUN words. Eight words are a sector, so blocks do not write into each other's sectors. On smaller
// graphs single words balance the load better.
constexpr unsigned RUN = MANY_VERTICES ? 8 : 1;
typedef word_share_by<RUN> word_share;
constexpr int WAITING = 64;  // capacity of a warp's list: a power of two, and at least the bits of two words
// True if the array of fresh() is in dynamic shared memory. The host then gives each block FRESH_WORDS words.
constexpr bool FRESH_APART = MANY_VERTICES && !SHORT_ROWS;
// Between two barriers, a block finds parents for the vertices of FRESH words of the bitmap, and can set
// LONG_ROWS rows aside.
constexpr int FRESH = FRESH_APART ? FRESH_WORDS : 2048 >> WIDE_OFFSETS;
constexpr int LONG_ROWS = FRESH_APART ? 1024 >> WIDE_OFFSETS : 256;
constexpr unsigned FEW_BITS = 20 * 32;  // the most bits in 32 words for which a warp takes several words at a time

struct pull_lists {
    offset_t begins[MAX_WARPS][WAITING];
    edge_t degrees[MAX_WARPS][WAITING];
    unsigned slots[MAX_WARPS][WAITING];  // see word_share_by
    unsigned fresh_here[FRESH_APART ? 1 : FRESH];  // used by fresh() alone
    unsigned long_slots[LONG_ROWS];
    offset_t long_rests[LONG_ROWS];      // offset of the first arc that has not been looked at
    unsigned num_long;
    block_tally unreached;

    // Returns the bitmap words in which the block now marks the vertices that this level finds.
    __device__ __forceinline__ unsigned *fresh() {
        extern __shared__ uint4 quads_of_block[];
        return FRESH_APART ? reinterpret_cast<unsigned *>(quads_of_block) : fresh_here;
    }
};

// The vertices for which a warp looks for parents. The warps of a block take the block's words in turn, and
// each warp reads offsets one word ahead. With MANY_VERTICES, most words have few unreached vertices in later
// levels. Then a warp takes several words at a time, so that most lanes have a vertex.
struct candidates {
    const bfs &search;
    const unsigned *visited;
    pull_lists &lists;
    const word_share &own;
    bool first;  // true if this pulled level fills `open` (MANY_VERTICES)
    word_walk<RUN> at;
    offset_t begin, end;  // the row of this lane's vertex, if it is a candidate
    bool together;        // true if several words of this batch are taken at a time

    // Read the words of this batch, one per lane. The warp takes several words at a time if the words of the
    // batch have at most `few_bits` bits together. The first pulled level takes one word at a time, because
    // open_word() needs all vertices of a word. Returns whether any lane has a word.
    __device__ __forceinline__ bool read_batch(unsigned few_bits = FEW_BITS) {
        const unsigned k = at.nth_word(threadIdx.x % 32);
        const bool all_open = MANY_VERTICES && first;
        at.words = k < own.words ? (all_open ? ALL_LANES : search.open[own.word(k)]) & ~visited[own.word(k)] : 0;
        if (LIKELY_FIRST && at.words != 0) at.words &= ~lists.fresh()[k];
        at.pending = __ballot_sync(ALL_LANES, at.words != 0);
        together = MANY_VERTICES && !first && warp_sum((unsigned)__popc(at.words)) <= few_bits;
        return __any_sync(ALL_LANES, k < own.words);
    }
    __device__ __forceinline__ bool take() { return together ? at.take_words() : at.take_word(); }
    __device__ __forceinline__ void read_row(unsigned of_slot) {
        const int v = min(own.vertex(of_slot), search.num_vertices - 1);
        begin = __ldg(&search.column_offsets[v]);
        end = __ldg(&search.column_offsets[v + 1]);
    }
    // Note in `open` which vertices of the taken word have in-neighbours. Store "unreached" for all unreached vertices
    // of the word, so that whole sectors are written. Vertices found in this level are stored again later, by this warp
    // or after a barrier.
    __device__ __forceinline__ void open_word() const {
        const unsigned open = __ballot_sync(ALL_LANES, begin < end);
        if (threadIdx.x % 32 == 0) search.open[own.word(at.slot / 32)] = open;
        if (at.current >> threadIdx.x % 32 & 1) search.answer.unreached(own.vertex(at.slot));
    }
    // Take the next word or words, and read the offsets of their vertices. If no words are left, `at.current` becomes
    // 0. The first call expects `at.batch` to be -1.
    __device__ __forceinline__ void advance() {
        while (at.pending == 0) {
            ++at.batch;
            if (!read_batch()) {
                at.current = 0;
                return;
            }
        }
        take();
        read_row(at.slot);
    }
};

// Append the vertices of the taken word that have in-neighbours to the warp's list. Returns their number.
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
