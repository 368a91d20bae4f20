// Types, constants and functions for thread numbers that all kernels use.
#pragma once

// Types for offsets into the arrays of arcs. The host defines WIDE_OFFSETS for a graph of more than 2^31 - 1 arcs.
// edge_t is the unsigned type with as many bits as offset_t, for arithmetic that may exceed the largest offset.
#if WIDE_OFFSETS
typedef long long offset_t;
typedef unsigned long long edge_t;
#else
typedef int offset_t;
typedef unsigned edge_t;
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu  // the mask of all lanes of a warp
#define MAX_WARPS 32           // the largest number of warps in a block

// The level of a vertex that the search has not reached.
#define UNREACHED (-1)

// Functions for the loops of kernels. A launch may have fewer threads than items, so the threads loop over the
// items:
//
//     for (unsigned i = global_thread(); i < items; i += grid_threads())
//
// The counter is unsigned because it may exceed 2^31 in its last addition. It cannot wrap around, because
// items and grid_threads() are both below 2^31.
__device__ __forceinline__ unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned grid_threads() { return gridDim.x * blockDim.x; }
