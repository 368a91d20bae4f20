// Functions for bitmaps with one bit per vertex. They visit the bits of a bitmap, and claim vertices. Vertex
// v has bit v % 32 of word v / 32.
#pragma once

#include "graph.cuh"

// Returns the bits of a bitmap's last word that belong to no vertex. Searches keep these bits set, as if they
// belonged to reached vertices.
__device__ __forceinline__ unsigned tail_bits(unsigned num_vertices) {
    return num_vertices % 32 ? ALL_LANES << num_vertices % 32 : 0;
}

// Visits vertices of a bitmap. All threads of all blocks must call this function. Each lane calls bits_of(w,
// there) to get word w; `there` is false if the lane has no word. For each word that is not 0, all lanes of
// the warp call visit(set, v). Each lane gets one vertex v of the word, and `set` is the bit of v. All words
// are spread over all warps of the grid, so that a small bitmap keeps all warps busy.
template <class BitsOf, class Visit>
__device__ __forceinline__ void visit_bitmap(unsigned words, BitsOf bits_of, Visit visit) {
    const unsigned warps = grid_threads() / 32, few = min((words + warps - 1) / warps, 32u), lane = threadIdx.x % 32;
    for (unsigned first = global_thread() / 32 * few; first < words; first += warps * few) {
        const unsigned w = first + lane, bits = bits_of(w, w < words && lane < few);
        for (unsigned lanes = __ballot_sync(ALL_LANES, bits != 0); lanes; lanes &= lanes - 1) {
            const unsigned other = __ffs(lanes) - 1, its = __shfl_sync(ALL_LANES, bits, other);
            visit((its >> lane & 1) != 0, (int)((first + other) * 32 + lane));
        }
    }
}

// Claims vertices: sets the bits `bits` of a word if `mine` is true. Returns the previous value of the word,
// or all bits set if `mine` is false. Atomics on one word take effect one after another, so exactly one
// atomic finds a bit clear. This atomic claims the vertex, for the calling lane or for another lane (see
// joint_claim). The atomic has a predicate instead of a branch around it, so that several claims of a thread
// are in flight together.
__device__ __forceinline__ unsigned set_bits(bool mine, unsigned *word, unsigned bits) {
    unsigned before = ALL_LANES;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; @p atom.relaxed.gpu.global.or.b32 %0, [%2], %3;}"
                 : "+r"(before)
                 : "r"((int)mine), "l"(word), "r"(bits)
                 : "memory");
    return before;
}

__device__ __forceinline__ unsigned set_bit(bool mine, unsigned *bitmap, int v) {
    return set_bits(mine, &bitmap[v / 32u], 1u << v % 32);
}

// Returns a word of the bitmap of reached vertices. The word may come from the L1 cache and be
// outdated. During a level, only claims change a word, and they only set bits. So a set bit
// belongs to a reached vertex. If a bit is clear, the caller must still claim the vertex. The
// word is not older than the last barrier of all blocks: in this barrier, the block's first
// thread acquires, and __syncthreads orders the loads of the block's other threads after it.
__device__ __forceinline__ unsigned look(const unsigned *word) {
    unsigned value;
    // benign race: if this load misses a claim, the caller's own atomic still finds the vertex claimed
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Joint claims: one atomic claims vertices for several lanes of a warp. Neighbouring lanes that
// need the same word of the bitmap form a group. The last lane of a group executes the atomic for
// the whole group. If the atomic claims a vertex, the earliest lane of the group that wants the
// vertex wins it. Groups are large in web crawls, because the column indices of a row are sorted.
struct joint_claim {
    unsigned bits;    // bits of the vertices that this lane and earlier lanes of its group claim
    unsigned before;  // bits of the vertices that earlier lanes of its group claim
    unsigned last;    // the last lane of this lane's group
    unsigned found;   // in the last lane of a group: the word's value before the atomic

    __device__ __forceinline__ void ask(unsigned *visited, bool mine, int v) {
        const unsigned lane = threadIdx.x % 32, word = v / 32u;
        const unsigned previous = __shfl_up_sync(ALL_LANES, word, 1);
        const unsigned firsts = __ballot_sync(ALL_LANES, lane == 0 || word != previous);
        const unsigned first = 31 - __clz(firsts & (ALL_LANES >> (31 - lane)));
        const unsigned later = lane < 31 ? firsts >> (lane + 1) : 0;
        last = later ? lane + __ffs(later) - 1 : 31;
        bits = mine ? 1u << v % 32 : 0;
#pragma unroll
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const unsigned others = __shfl_up_sync(ALL_LANES, bits, distance);
            if (lane >= first + distance) bits |= others;
        }
        before = __shfl_up_sync(ALL_LANES, bits, 1);
        if (lane == first) before = 0;
        found = set_bits(lane == last && bits, &visited[word], bits);
    }
    // Returns whether this lane has won vertex `v`: the bit of `v` was clear in the word, and no earlier lane
    // of the group claims `v`. Returns false if `mine` is false. All lanes of a warp must call this function
    // after ask().
    __device__ __forceinline__ bool won(bool mine, int v) const {
        const unsigned set = before | __shfl_sync(ALL_LANES, found, last);
        return mine && !(set >> v % 32 & 1);
    }
};

// Returns whether the vertices of this lane and of the previous lane lie in one word of the bitmap. All lanes
// of a warp must call this function. For a lane whose `mine` is false, ~threadIdx.x replaces the index of the
// word, because no word has this index.
__device__ __forceinline__ bool same_word_as_before(bool mine, int v) {
    const unsigned word = mine ? v / 32u : ~threadIdx.x, previous = __shfl_up_sync(ALL_LANES, word, 1);
    return threadIdx.x % 32 > 0 && word == previous;
}

// Claims up to `count` vertices per lane: v[k] if mine[k] is set. On return, mine[k] says whether this lane
// has won v[k]. All lanes of a warp must call this function. A joint claim costs about 50 instructions, so
// the warp makes joint claims only if some of its lanes share a word.
template <int count>
__device__ __forceinline__ void claim(unsigned *visited, bool (&mine)[count], const int (&v)[count]) {
    bool together = false;
    for (int k = 0; k < count; ++k) together |= same_word_as_before(mine[k], v[k]);
    if (__any_sync(ALL_LANES, together)) {
        joint_claim claims[count];
        for (int k = 0; k < count; ++k) claims[k].ask(visited, mine[k], v[k]);
        for (int k = 0; k < count; ++k) mine[k] = claims[k].won(mine[k], v[k]);
    } else {
        unsigned words[count];
        for (int k = 0; k < count; ++k) words[k] = set_bit(mine[k], visited, v[k]);
        for (int k = 0; k < count; ++k) mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
    }
}

// The words of a bitmap that a block processes between two barriers. Groups of `run` neighbouring words go to the
// blocks round-robin; `run` is a power of two. A block numbers its own words from 0. Of these it processes `words`
// words, beginning with number `first`. A slot is the index of a bit among the words that the block processes.
template <unsigned run>
struct word_share_by {
    unsigned first, words;

    // Returns the number of words that this block owns in a bitmap of `words` words.
    __device__ __forceinline__ static unsigned own(unsigned words) {
        const unsigned runs = (words + run - 1) / run, mine = (runs + gridDim.x - 1 - blockIdx.x) / gridDim.x * run;
        return (runs - 1) % gridDim.x == blockIdx.x ? mine - (runs * run - words) : mine;
    }
    __device__ __forceinline__ unsigned word(unsigned k) const {
        return ((first + k) / run * gridDim.x + blockIdx.x) * run + (first + k) % run;
    }
    __device__ __forceinline__ int vertex(unsigned slot) const { return word(slot / 32) * 32 + slot % 32; }
};
