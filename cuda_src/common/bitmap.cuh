// A bit a vertex, which many threads look at and set: bit v % 32 of word v / 32.
#pragma once

#include "graph.cuh"

// Bits of the last word of a bitmap that belong to no vertex. They count as visited.
__device__ __forceinline__ unsigned tail_bits(unsigned num_vertices) {
    return num_vertices % 32 ? ALL_LANES << num_vertices % 32 : 0;
}

// Visit the vertices of a bitmap: for all blocks. Each lane calls bits_of(w, there) for words, also with there = false;
// where the result has bits, all lanes of the warp call visit(set, v), each for a vertex of the word. Words are spread
// over all warps before one has many.
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

// Set bits of a word for each lane that is to, and return what was set before, all bits for the others. The instruction
// is predicated rather than jumped over, so that what has been asked for before stays on its way.
__device__ __forceinline__ unsigned set_bits(bool mine, unsigned *word, unsigned bits) {
    unsigned before = ALL_LANES;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; @p atom.relaxed.gpu.global.or.b32 %0, [%2], %3;}"
                 : "+r"(before)
                 : "r"((int)mine), "l"(word), "r"(bits)
                 : "memory");
    return before;
}

// The same for the bit of a vertex in a bitmap.
__device__ __forceinline__ unsigned set_bit(bool mine, unsigned *bitmap, int v) {
    return set_bits(mine, &bitmap[v / 32u], 1u << v % 32);
}

// A look that may go through the L1 cache.
__device__ __forceinline__ unsigned look(const unsigned *word) {
    unsigned value;
    // benign race: a look may miss a claim
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Claims of a warp's lanes in neighbouring words: lanes side by side that ask for the same word leave it to the last of
// them. Arcs of a row lie in order, so in a web crawl most do.
struct joint_claim {
    unsigned bits;    // of this lane and those before it in its group
    unsigned before;  // of those before it alone
    unsigned last;    // lane of its group
    unsigned found;   // in the word before the claim

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
    // Whether this lane is the one that has claimed its vertex.
    __device__ __forceinline__ bool won(bool mine, int v) const {
        const unsigned set = before | __shfl_sync(ALL_LANES, found, last);
        return mine && !(set >> v % 32 & 1);
    }
};

// Whether the lane before this one asks for a bit of the same word. For whole warps.
__device__ __forceinline__ bool same_word_as_before(bool mine, int v) {
    const unsigned word = mine ? v / 32u : ~threadIdx.x, previous = __shfl_up_sync(ALL_LANES, word, 1);
    return threadIdx.x % 32 > 0 && word == previous;
}

// Claim vertices, each lane some: with one instruction for lanes side by side that ask for the same word, if any do.
// Leaves in `mine` which of them this lane has claimed. For whole warps.
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

// What a block works on at a time: words of the bitmaps, from the `first`-th of its own on. A slot is a bit of it. All
// blocks take turns by so many words, a power of two.
template <unsigned run>
struct word_share_by {
    unsigned first, words;

    // How many words of a bitmap are the block's own.
    __device__ __forceinline__ static unsigned own(unsigned words) {
        const unsigned runs = (words + run - 1) / run, mine = (runs + gridDim.x - 1 - blockIdx.x) / gridDim.x * run;
        return (runs - 1) % gridDim.x == blockIdx.x ? mine - (runs * run - words) : mine;
    }
    __device__ __forceinline__ unsigned word(unsigned k) const {
        return ((first + k) / run * gridDim.x + blockIdx.x) * run + (first + k) % run;
    }
    __device__ __forceinline__ int vertex(unsigned slot) const { return word(slot / 32) * 32 + slot % 32; }
};
