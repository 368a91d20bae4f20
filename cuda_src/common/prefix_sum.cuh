// Prefix sums of one value a thread, over a warp and over a block. scan.cuh has those of arrays.
#pragma once

#include "warp.cuh"

// The sum over this lane and those before it. For all lanes of a warp.
template <class T>
__device__ __forceinline__ T inclusive_sum(const warp_lanes &warp, T value) {
#pragma unroll
    for (unsigned distance = 1; distance < WARP; distance *= 2) {
        const T before = __shfl_up_sync(warp.mask, value, distance);
        if (warp.lane >= distance) value += before;
    }
    return value;
}

// The sum over the lanes before this one; `total` gets that over all. For all lanes of a warp.
template <class T>
__device__ __forceinline__ T exclusive_sum(const warp_lanes &warp, T value, T &total) {
    const T sum = inclusive_sum(warp, value);
    total = __shfl_sync(warp.mask, sum, warp.lanes - 1);
    return sum - value;
}

// The same for all lanes of a whole warp.
__device__ __forceinline__ unsigned sum_before(unsigned mine, unsigned &total) {
    return exclusive_sum(warp_lanes(threadIdx.x % 32), mine, total);
}

// Reserve places for each lane with one addition of the warp: reserve(total), which the first lane calls, returns the
// first of all. For all lanes of a whole warp.
template <class Reserve>
__device__ __forceinline__ unsigned reserve_together(unsigned mine, Reserve reserve) {
    unsigned total, first = 0;
    const unsigned before = sum_before(mine, total);
    if (threadIdx.x % 32 == 0) first = reserve(total);
    return __shfl_sync(ALL_LANES, first, 0) + before;
}

// Reserve places in a queue, up to 15 for each lane, with one addition of the warp. Lanes that ask are counted bit by
// bit, which is quicker than to sum.
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

// The sum over the threads before this one; `total` gets that over all. For all threads of a block; has a barrier
// within and at its end.
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
