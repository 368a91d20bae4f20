// The calling thread's warp.
#pragma once

#include "graph.cuh"

struct warp_lanes {
    int lane;       // the calling thread's
    int lanes;      // how many there are
    unsigned mask;  // a bit for each

    // The calling thread's warp. A block need not consist of whole warps: its last one may have fewer lanes.
    __device__ __forceinline__ warp_lanes() {
        lane = threadIdx.x % WARP;
        lanes = min((unsigned)WARP, blockDim.x - (threadIdx.x - lane));
        mask = ALL_LANES >> (WARP - lanes);
    }

    // A whole warp.
    __device__ __forceinline__ explicit warp_lanes(int lane) : lane(lane), lanes(WARP), mask(ALL_LANES) {}
};

__device__ __forceinline__ warp_lanes this_warp() { return warp_lanes(); }

// The least of the lanes' values. For all lanes of a warp.
__device__ __forceinline__ int minimum(const warp_lanes &warp, int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // which has no instruction for it
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const int other = __shfl_down_sync(warp.mask, value, distance);
        if (warp.lane + distance < warp.lanes) value = min(value, other);
    }
    return __shfl_sync(warp.mask, value, 0);
#else
    return __reduce_min_sync(warp.mask, value);
#endif
}

// The rest is for all lanes of a whole warp.

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
