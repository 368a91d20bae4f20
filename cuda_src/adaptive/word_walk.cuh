// A walk of a block's warps over words of a bitmap. Each warp has its own words. It takes one word or several
// words at a time, with one bit per lane. Words without a bit are skipped.
#pragma once

#include "prefix_sum.cuh"

// Runs of `run` neighbouring words belong to the warps in turn.
template <unsigned run>
struct word_walk {
    unsigned batch;    // the number of the batch: 32 words, one per lane
    unsigned words;    // this lane's word
    unsigned pending;  // the lanes whose words have not been taken
    unsigned current;  // the word taken; after take_words(), the lanes that have a bit
    unsigned slot;     // the index of this lane's bit among all bits of the walk

    // Returns the index of a lane's word in this batch, among all words of the walk.
    __device__ __forceinline__ unsigned nth_word(unsigned lane) const {
        const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
        return ((batch * (32 / run) + lane / run) * warps + warp) * run + lane % run;
    }
    // Take a pending word. Returns whether this lane's bit is set.
    __device__ __forceinline__ bool take_word() {
        const int next = __ffs(pending) - 1;
        pending &= pending - 1;
        current = __shfl_sync(ALL_LANES, words, next);
        slot = nth_word(next) * 32 + threadIdx.x % 32;
        return current >> threadIdx.x % 32 & 1;
    }
    // Take the next pending words that have at most 32 bits together, and give each bit to a lane. Returns
    // true if this lane has a bit. `slot` becomes the index of that bit.
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
        unsigned nth = mine ? lane + __popc(bits) - its_end : 0;  // this lane has the nth set bit of its word
        for (int half = 16; half > 0; half /= 2) {
            const unsigned below = __popc(bits >> place & (1u << half) - 1);
            if (nth >= below) nth -= below, place += half;
        }
        slot = nth_word(mine ? owner : __ffs(taken) - 1) * 32 + place % 32;
        current = __ballot_sync(ALL_LANES, mine);
        return mine;
    }
};
