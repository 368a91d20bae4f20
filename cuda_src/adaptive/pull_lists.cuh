// The shared memory of a block that pulls, and the order in which its warps take vertices.
#pragma once

#include "search.cuh"
#include "word_walk.cuh"

// A bitmap is divided into runs of RUN neighbouring words, and each run belongs to one block. On large graphs, RUN
// is eight words, which are a sector of memory, so that two blocks never write one sector. On smaller graphs,
// single words balance the load better.
constexpr unsigned RUN = MANY_VERTICES ? 8 : 1;
typedef word_share_by<RUN> word_share;
constexpr int WAITING = 64;  // the capacity of a warp's list: a power of two, at least 64
// True if the array of fresh() is in dynamic shared memory. The host then gives each block dynamic memory for
// FRESH_WORDS words.
constexpr bool FRESH_APART = MANY_VERTICES && !SHORT_ROWS;
// FRESH is the number of words of the bitmap whose vertices a block processes between two barriers. LONG_ROWS is
// the number of rows that the block can set aside for whole warps in this time.
constexpr int FRESH = FRESH_APART ? FRESH_WORDS : 2048 >> WIDE_OFFSETS;
constexpr int LONG_ROWS = FRESH_APART ? 1024 >> WIDE_OFFSETS : 256;
// A warp may take several words of the bitmap at a time if its next 32 words together have at most FEW_BITS
// set bits.
constexpr unsigned FEW_BITS = 20 * 32;

struct pull_lists {
    offset_t begins[MAX_WARPS][WAITING];
    edge_t degrees[MAX_WARPS][WAITING];
    unsigned slots[MAX_WARPS][WAITING];            // bit indices of vertices, see word_share_by
    unsigned fresh_here[FRESH_APART ? 1 : FRESH];  // the words of fresh() without FRESH_APART
    unsigned long_slots[LONG_ROWS];
    offset_t long_rests[LONG_ROWS];  // the offset of the first arc that no lane has read
    unsigned num_long;
    block_tally unreached;

    // Returns the words in which the block marks the vertices that this level finds.
    __device__ __forceinline__ unsigned *fresh() {
        extern __shared__ uint4 quads_of_block[];
        return FRESH_APART ? reinterpret_cast<unsigned *>(quads_of_block) : fresh_here;
    }
};

// The vertices for which a warp looks for parents. The warps of a block take the block's words of the bitmap
// in turn, and read the offsets of vertices one word ahead. With MANY_VERTICES, most words have few unreached
// vertices in later levels. Then a warp takes several words at a time, so that most lanes have a vertex.
struct candidates {
    const bfs &search;
    const unsigned *visited;
    pull_lists &lists;
    const word_share &own;
    bool first;  // true if this level fills search.open (only with MANY_VERTICES)
    word_walk<RUN> at;
    offset_t begin, end;  // the offsets of the row of this lane's vertex
    bool together;        // true if the warp takes several words of this batch at a time

    // Reads the next 32 words of this warp, one per lane. If the words together have at most `few_bits` set
    // bits, the warp takes several words at a time. The first pulled level takes one word at a time, because
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
    // Records in search.open which vertices of the taken word have in-neighbours. Also writes
    // UNREACHED to the answer of each unreached vertex of the word, because the warp then writes whole
    // sectors. If this level reaches such a vertex, the lane that reaches it overwrites UNREACHED with
    // the level (with TREE, the parent). A __syncwarp or a barrier orders these two stores.
    __device__ __forceinline__ void open_word() const {
        const unsigned open = __ballot_sync(ALL_LANES, begin < end);
        if (threadIdx.x % 32 == 0) search.open[own.word(at.slot / 32)] = open;
        if (at.current >> threadIdx.x % 32 & 1) search.answer.unreached(own.vertex(at.slot));
    }
    // Takes the next word or words, and reads the offsets of their vertices. If no words are left,
    // `at.current` becomes 0. Before the first call, the caller sets `at.batch` to -1.
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

// Appends each vertex of the taken words that has in-neighbours
// to the warp's list. Returns the number of appended vertices.
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
