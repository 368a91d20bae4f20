// Prefix sums of one value per thread, over a warp or over a block. The file scan.cuh has prefix sums of
// arrays.
#pragma once

#include "warp.cuh"

// Returns the sum of `value` over this lane and all lower lanes. All lanes of a warp must call the function.
template <class T>
__device__ __forceinline__ T inclusive_sum(const warp_lanes &warp, T value) {
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const T before = __shfl_up_sync(warp.mask, value, distance);
        if (warp.lane >= distance) value += before;
    }
    return value;
}

// Returns the sum of `value` over all lower lanes. `total` becomes the sum over all lanes. All lanes of a
// warp must call the function.
template <class T>
__device__ __forceinline__ T exclusive_sum(const warp_lanes &warp, T value, T &total) {
    const T sum = inclusive_sum(warp, value);
    total = __shfl_sync(warp.mask, sum, warp.lanes - 1);
    return sum - value;
}

// Returns the sum of `mine` over all lower lanes. `total` becomes the sum over all lanes. The warp must have 32
// lanes, and all of them must call the function.
__device__ __forceinline__ unsigned sum_before(unsigned mine, unsigned &total) {
    return exclusive_sum(warp_lanes(threadIdx.x % 32), mine, total);
}

// Reserves `mine` places for each lane with one addition per warp. The first lane calls reserve(total), which
// returns the warp's first place. Returns the first place of this lane. All lanes of a warp must call the
// function.
template <class Reserve>
__device__ __forceinline__ unsigned reserve_together(unsigned mine, Reserve reserve) {
    unsigned total, first = 0;
    const unsigned before = sum_before(mine, total);
    if (threadIdx.x % 32 == 0) first = reserve(total);
    return __shfl_sync(ALL_LANES, first, 0) + before;
}

// Reserves `parts` places for each lane, at most 15, with one addition to `size` per warp. Returns the first
// place of this lane. Counting lanes for each of the four bits of `parts` is faster than a prefix sum. All
// lanes of a warp must call the function.
__device__ __forceinline__ unsigned reserve_few(unsigned &size, unsigned parts) {
    const unsigned lane = threadIdx.x % 32, below = (1u << lane) - 1;
    unsigned before = 0, total = 0;
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
        const unsigned lanes = __ballot_sync(ALL_LANES, parts >> bit & 1);
        before += __popc(lanes & below) << bit;
        total += __popc(lanes) << bit;
    }
    unsigned first = 0;
    if (lane == 0 && total > 0) first = atomicAdd(&size, total);
    return __shfl_sync(ALL_LANES, first, 0) + before;
}

// Returns the sum of `value` over all threads of the block with lower indices. `total` becomes the sum over the
// block. All threads of the block must call the function. The function ends with a barrier, so that the next call
// may reuse the shared memory.
__device__ __forceinline__ int exclusive_sum_of_block(int value, int &total) {
    __shared__ int warp_sums[MAX_WARPS];
    const warp_lanes warp = this_warp();
    const int inclusive = inclusive_sum(warp, value);
    if (warp.lane == warp.lanes - 1) warp_sums[threadIdx.x / WARP] = inclusive;
    __syncthreads();
    int before = 0, sum = 0;
    for (unsigned w = 0; w * WARP < blockDim.x; ++w) {
        if (w == threadIdx.x / WARP) before = sum;
        sum += warp_sums[w];
    }
    __syncthreads();
    total = sum;
    return before + inclusive - value;
}
