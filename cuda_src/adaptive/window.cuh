// Windows: aligned groups of column indices that a thread reads at a time.
#pragma once

#include "graph.cuh"

constexpr int WINDOW = 8;  // arcs of a window, which fill a sector of 32 bytes

// Returns the end of the window that contains `at`, or `end` if the row ends earlier.
__device__ __forceinline__ edge_t window_end(edge_t at, edge_t end) {
    return min((at & ~(edge_t)(WINDOW - 1)) + WINDOW, end);
}

// Prefetches the cache line at `address` into the L2 cache.
__device__ __forceinline__ void prefetch(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
