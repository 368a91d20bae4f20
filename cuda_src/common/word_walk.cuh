// A walk of a block's warps over the words of a bitmap. Each warp takes words of its own, one at a time, a bit in each
// lane; words without a bit are passed over.
#pragma once

#include "graph.cuh"

struct word_walk {
    unsigned batch;    // of 32 words, one in each lane
    unsigned words;    // this lane's
    unsigned pending;  // lanes with a word yet to come
    unsigned current;  // the word that has been taken
    unsigned slot;     // of this lane's bit in it, among all bits

    // Which word of all is this lane's, in the batch.
    __device__ __forceinline__ unsigned nth_word(unsigned lane) const {
        const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
        return (batch * 32 + lane) * warps + warp;
    }
    // Take a pending word, and tell whether this lane's bit is set.
    __device__ __forceinline__ bool take_word() {
        const int next = __ffs(pending) - 1;
        pending &= pending - 1;
        current = __shfl_sync(ALL_LANES, words, next);
        slot = nth_word(next) * 32 + threadIdx.x % 32;
        return current >> threadIdx.x % 32 & 1;
    }
};
