// Distributes the words of a bitmap to the warps of a block. A warp skips words without set bits. take_word()
// gives each bit of one word to a lane. take_words() gives each set bit of several words to a lane.
#pragma once

#include "prefix_sum.cuh"

// The words that one warp visits. The warps of the block take groups of `run` neighbouring words round-robin.
template <unsigned run>
struct word_walk {
    unsigned batch;    // the number of the current batch of 32 words, one word per lane
    unsigned words;    // this lane's word of the batch
    unsigned pending;  // the lanes whose words the warp has not taken yet
    unsigned current;  // the word taken last; after take_words(), a mask of lanes that have a bit
    unsigned slot;     // the index of this lane's bit among all bits of the walk

    // Returns the index of the word that lane `lane` has in the current batch of 32 words. The index is
    // relative to the first word of the block.
    __device__ __forceinline__ unsigned nth_word(unsigned lane) const {
        const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
        return ((batch * (32 / run) + lane / run) * warps + warp) * run + lane % run;
    }
    // Takes a word that the warp has not taken yet. Returns whether this lane's bit of the word is set.
    __device__ __forceinline__ bool take_word() {
        const int next = __ffs(pending) - 1;
        pending &= pending - 1;
        current = __shfl_sync(ALL_LANES, words, next);
        slot = nth_word(next) * 32 + threadIdx.x % 32;
        return current >> threadIdx.x % 32 & 1;
    }
    // Takes the next words that together have at most 32 set bits, and gives each set bit to a lane. Returns
    // true if this lane has a bit. The member `slot` becomes the index of that bit. All lanes of a warp must
    // call this function.
    __device__ __forceinline__ bool take_words() {
        const unsigned lane = threadIdx.x % 32, count = pending >> lane & 1 ? __popc(words) : 0;
        unsigned total, owner = 0, place = 0;
        const unsigned end = sum_before(count, total) + count;
        const unsigned taken = __ballot_sync(ALL_LANES, end <= 32) & pending;
        pending &= ~taken;
        for (int half = 16; half > 0; half /= 2)
            if (__shfl_sync(ALL_LANES, end, owner + half - 1) <= lane) owner += half;
        const unsigned bits = __shfl_sync(ALL_LANES, words, owner), its_end = __shfl_sync(ALL_LANES, end, owner);
        const bool mine = (taken >> owner & 1) && lane < its_end;
        // `nth` is the index of this lane's bit among the set bits of its word.
        unsigned nth = mine ? lane + __popc(bits) - its_end : 0;
        for (int half = 16; half > 0; half /= 2) {
            const unsigned below = __popc(bits >> place & (1u << half) - 1);
            if (nth >= below) nth -= below, place += half;
        }
        slot = nth_word(mine ? owner : __ffs(taken) - 1) * 32 + place % 32;
        current = __ballot_sync(ALL_LANES, mine);
        return mine;
    }
};
