// The calling thread's warp, and prefix sums over its lanes.
#pragma once

#include "graph.cuh"

// Inclusive prefix sum over the lanes of a warp by shuffles: each lane gets the sum of the values of the lanes up to and
// including it. `lanes` has a bit for each lane that takes part; these are the lowest ones, and all must call it.
template <class T>
__device__ __forceinline__ T inclusive_sum(unsigned lanes, int lane, T value) {
#pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        const T before = __shfl_up_sync(lanes, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// A warp of a block that need not consist of whole warps: its last one may have fewer lanes.
struct warp_lanes {
    int lane;       // the calling thread's
    int lanes;      // how many there are
    unsigned mask;  // a bit for each

    // The sum of the values of the lanes before this one, and in `total` of all lanes. For all of them.
    template <class T>
    __device__ __forceinline__ T exclusive_sum(T value, T &total) const {
        const T sum = inclusive_sum(mask, lane, value);
        total = __shfl_sync(mask, sum, lanes - 1);
        return sum - value;
    }
};

__device__ __forceinline__ warp_lanes this_warp() {
    const int lane = threadIdx.x % WARP, lanes = min((unsigned)WARP, blockDim.x - (threadIdx.x - lane));
    return {lane, lanes, ALL_LANES >> (WARP - lanes)};
}

// For blocks that consist of whole warps.
__device__ __forceinline__ warp_lanes this_whole_warp() { return {(int)(threadIdx.x % WARP), WARP, ALL_LANES}; }
