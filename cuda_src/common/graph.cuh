// Types, constants and thread numbers for all kernels.
#pragma once

// Offsets into the arrays of arcs. The host defines WIDE_OFFSETS for a graph of more than 2^31 - 1 arcs. edge_t is the
// unsigned type of the same width, for arithmetic that may pass the largest offset.
#if WIDE_OFFSETS
typedef long long offset_t;
typedef unsigned long long edge_t;
#else
typedef int offset_t;
typedef unsigned edge_t;
#endif

#define WARP 32
#define ALL_LANES 0xffffffffu  // the mask of a whole warp
#define MAX_WARPS 32           // the most warps of a block

// Level of a vertex that has not been reached.
#define UNREACHED (-1)

// A launch may have fewer threads than items. So every kernel loops over them:
//     for (unsigned i = global_thread(); i < items; i += grid_threads())
// The counter is unsigned because it may pass 2^31 in its last step. It cannot wrap, because items and grid_threads()
// are both below 2^31.
__device__ __forceinline__ unsigned global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ unsigned grid_threads() { return gridDim.x * blockDim.x; }
