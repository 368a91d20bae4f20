// Types and index arithmetic shared by all kernels.
#pragma once

// Offsets into the edge arrays. The host defines WIDE_OFFSETS when a graph has more than 2^31 - 1 arcs.
#if WIDE_OFFSETS
typedef long long offset_t;
typedef unsigned long long edge_t;
#else
typedef int offset_t;
typedef unsigned edge_t;
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu  // of a warp
#define MAX_WARPS 32           // of a block

// Level of a vertex that has not been reached.
#define UNREACHED (-1)

// A launch may have fewer threads than items. Every kernel therefore loops
//     for (unsigned i = global_thread(); i < items; i += grid_threads())
// over them. The counter is unsigned because it may pass 2^31 in its last step; items and grid_threads() are
// both below 2^31, so it cannot wrap.
__device__ __forceinline__ unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned grid_threads() { return gridDim.x * blockDim.x; }
