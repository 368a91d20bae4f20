// Lists of numbers in shared memory: all warps of a block append to a block_list, and one warp uses a
// warp_list.
#pragma once

#include "graph.cuh"

template <unsigned capacity>
struct block_list {
    int entries[capacity];
    unsigned size;  // the number of places requested so far, including places of refused appends
    // Entries with an index below `end` are valid. If no append was refused, `end` is the capacity. Otherwise
    // it is the smallest index at which a refused append would have begun.
    unsigned end;

    // Empties the list. One thread of the block calls this function, before a barrier of the block.
    __device__ __forceinline__ void reset() { size = 0, end = capacity; }
    // Returns the number of valid entries. The caller must have passed a barrier of the block after the last
    // append.
    __device__ __forceinline__ unsigned listed() const { return min(size, end); }
    __device__ __forceinline__ bool all_fit() const { return size <= capacity; }
    // Appends, for all lanes of a warp, the numbers[k] for which mine[k] is
    // true. If there is no room for all of these numbers, it appends none of
    // them and returns false. All lanes of the warp must call this function.
    template <int count>
    __device__ __forceinline__ bool append(const bool (&mine)[count], const int (&numbers)[count]) {
        unsigned lanes[count], total = 0, at = 0;
#pragma unroll
        for (int k = 0; k < count; ++k) total += __popc(lanes[k] = __ballot_sync(ALL_LANES, mine[k]));
        if (total == 0) return true;
        if (threadIdx.x % 32 == 0) at = atomicAdd(&size, total);
        at = __shfl_sync(ALL_LANES, at, 0);
        if (at + total > capacity) {
            if (threadIdx.x % 32 == 0) atomicMin(&end, at);
            return false;
        }
#pragma unroll
        for (int k = 0; k < count; ++k) {
            if (mine[k]) entries[at + __popc(lanes[k] & (1u << threadIdx.x % 32) - 1)] = numbers[k];
            at += __popc(lanes[k]);
        }
        return true;
    }
};

// Redistributes numbers among the lanes of a warp. Each lane stores some numbers, perhaps none, and then
// takes at most one number.
struct warp_list {
    int entries[32];

    // Counts, over all lanes, the numbers[k] for which mine[k] is true. Stores them in the list
    // if there are at most 32. Returns the count. All lanes of a warp must call this function.
    template <int count>
    __device__ __forceinline__ unsigned fill(const bool (&mine)[count], const int (&numbers)[count]) {
        unsigned lanes[count], total = 0, at = 0;
#pragma unroll
        for (int k = 0; k < count; ++k) total += __popc(lanes[k] = __ballot_sync(ALL_LANES, mine[k]));
        if (total == 0 || total > 32) return total;
#pragma unroll
        for (int k = 0; k < count; ++k) {
            if (mine[k]) entries[at + __popc(lanes[k] & (1u << threadIdx.x % 32) - 1)] = numbers[k];
            at += __popc(lanes[k]);
        }
        __syncwarp();
        return total;
    }
    // Returns one number of the list, a different one for each lane. Returns 0 if `there` is false. All
    // lanes of a warp must call this function, once after each fill().
    __device__ __forceinline__ int take(bool there) const {
        const int entry = there ? entries[threadIdx.x % 32] : 0;
        __syncwarp();
        return entry;
    }
};
