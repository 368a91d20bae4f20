// A description of the calling thread's warp, and sums and minima over the warp.
#pragma once

#include "graph.cuh"

struct warp_lanes {
    int lane;       // index of the calling thread in the warp
    int lanes;      // number of lanes of the warp
    unsigned mask;  // a bit for each lane of the warp

    // Describes the calling thread's warp. The last warp of a block may have fewer than 32 lanes.
    __device__ __forceinline__ warp_lanes() {
        lane = threadIdx.x % WARP;
        lanes = min((unsigned)WARP, blockDim.x - (threadIdx.x - lane));
        mask = ALL_LANES >> (WARP - lanes);
    }

    // Describes a warp that is known to have 32 lanes.
    __device__ __forceinline__ explicit warp_lanes(int lane) : lane(lane), lanes(WARP), mask(ALL_LANES) {}
};

__device__ __forceinline__ warp_lanes this_warp() { return warp_lanes(); }

// Returns the smallest value of all lanes. All lanes of a warp must call the function.
__device__ __forceinline__ int minimum(const warp_lanes &warp, int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // these devices have no instruction for the minimum
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const int other = __shfl_down_sync(warp.mask, value, distance);
        if (warp.lane + distance < warp.lanes) value = min(value, other);
    }
    return __shfl_sync(warp.mask, value, 0);
#else
    return __reduce_min_sync(warp.mask, value);
#endif
}

// The functions warp_sum() return the sum over all lanes of a warp. The warp must have 32 lanes, and all lanes must
// call the function.

__device__ __forceinline__ unsigned warp_sum(unsigned mine) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, mine);
#else
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
#endif
}
__device__ __forceinline__ unsigned long long warp_sum(unsigned long long mine) {
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
}
