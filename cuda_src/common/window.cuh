// Reading an array of column indices by windows.
#pragma once

#include "graph.cuh"

constexpr int WINDOW = 8;  // arcs that a thread reads at a time: a sector of 32 bytes

// Where the first window of the rest [at, end) of a row ends.
__device__ __forceinline__ edge_t window_end(edge_t at, edge_t end) {
    return min((at & ~(edge_t)(WINDOW - 1)) + WINDOW, end);
}

// Have the lines of memory around an address brought into the L2 cache, for a later level.
__device__ __forceinline__ void prefetch(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
