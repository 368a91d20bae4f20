// Lists of numbers in shared memory: one that the warps of a block append to, and one of a warp.
#pragma once

#include "graph.cuh"

template <unsigned capacity>
struct block_list {
    int entries[capacity];
    unsigned size;  // reserved so far, by appends that were refused as well
    unsigned end;   // of the entries: the first append that was refused would have begun here

    // For one thread of the block.
    __device__ __forceinline__ void reset() { size = 0, end = capacity; }
    // After a barrier of the block, how many entries there are.
    __device__ __forceinline__ unsigned listed() const { return min(size, end); }
    __device__ __forceinline__ bool all_fit() const { return size <= capacity; }
    // For whole warps: append some numbers of each lane. Returns false if there is no room for all of them.
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

// Room for what the lanes of a warp have, some each, to be brought to one a lane.
struct warp_list {
    int entries[32];

    // For whole warps. Returns how many numbers there are; if they are more than lanes, does nothing else.
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
    // For whole warps, after fill(), once. For a lane beyond what is there it is no number.
    __device__ __forceinline__ int take(bool there) const {
        const int entry = there ? entries[threadIdx.x % 32] : 0;
        __syncwarp();
        return entry;
    }
};
