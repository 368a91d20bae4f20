// Lists of numbers in shared memory: block_list for all warps of a block, warp_list for one warp.
#pragma once

#include "graph.cuh"

template <unsigned capacity>
struct block_list {
    int entries[capacity];
    unsigned size;  // places requested so far, including places of refused appends
    unsigned end;   // the least place at which a refused append would have begun; entries before it are valid

    // Empty the list. One thread of the block calls it.
    __device__ __forceinline__ void reset() { size = 0, end = capacity; }
    // Returns the number of entries. A barrier of the block must come before.
    __device__ __forceinline__ unsigned listed() const { return min(size, end); }
    __device__ __forceinline__ bool all_fit() const { return size <= capacity; }
    // Append either all numbers of a warp or none. Returns false if there is no room for all of them. All lanes
    // of a warp must call it.
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

// Redistributes numbers among the lanes of a warp. Each lane brings any count of numbers, and then takes at
// most one number.
struct warp_list {
    int entries[32];

    // Returns how many numbers the lanes bring. Stores the numbers only if there are at most 32. All lanes of a
    // warp must call it.
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
    // Returns this lane's number, or 0 if `there` is false. All lanes of a warp must call it, once after each
    // fill().
    __device__ __forceinline__ int take(bool there) const {
        const int entry = there ? entries[threadIdx.x % 32] : 0;
        __syncwarp();
        return entry;
    }
};
