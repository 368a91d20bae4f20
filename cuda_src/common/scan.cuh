// Exclusive prefix sums: of a tile in shared memory by one block, and of an array of any length in global memory.
//
// Blelloch's two sweeps scan a tile (Harris, Sengupta and Owens, GPU Gems 3, ch. 39). The elements are the
// leaves of a binary tree. On the way up, every inner node gets the sum of its subtree, in the place of the
// subtree's last element. On the way down, the root begins with 0. Each node gives its value to its left child,
// and its value plus the left subtree's sum to its right child. So each leaf ends with the sum of all elements
// before it.
//
// Bank conflicts: near the root, the elements in use are 32, 64, ... apart, so all would lie in one bank of shared
// memory. One word of padding after every 32 elements moves them to different banks. In longer tiles, another
// word of padding after every 1024 elements has the same effect.
//
// Arrays: scan_tiles scans each tile alone and stores the sums of tiles. The host scans these sums as a shorter array,
// until one tile is left. add_tile_offsets then adds to every tile the sum of the preceding tiles. The host's loop is
// in bfsbench/variants/scan.py.
//
// The including file defines TILE_SIZE, a power of two. It defines SCAN_TYPE if elements are not of type int. Blocks of
// any size scan tiles of any size.
#pragma once

#include "graph.cuh"

#ifndef SCAN_TYPE
#define SCAN_TYPE int
#endif

#define PADDED(i) ((i) + (i) / 32 + (i) / 1024)

// Scan a tile of PADDED(TILE_SIZE) words in shared memory, with element i at PADDED(i). Returns the sum of all
// elements. All threads of the block must call it. Begins and ends with a barrier.
__device__ __forceinline__ SCAN_TYPE scan_tile(SCAN_TYPE *tile) {
    // Neighbouring nodes of one depth of the tree are `stride` elements apart. Each thread takes pairs of them.
    for (int stride = 1; stride < TILE_SIZE; stride *= 2) {
        __syncthreads();
        for (int left = (2 * threadIdx.x + 1) * stride - 1; left < TILE_SIZE; left += 2 * blockDim.x * stride)
            tile[PADDED(left + stride)] += tile[PADDED(left)];
    }
    __syncthreads();
    const SCAN_TYPE total = tile[PADDED(TILE_SIZE - 1)];
    __syncthreads();
    if (threadIdx.x == 0) tile[PADDED(TILE_SIZE - 1)] = 0;
    for (int stride = TILE_SIZE / 2; stride > 0; stride /= 2) {
        __syncthreads();
        for (int left = (2 * threadIdx.x + 1) * stride - 1; left < TILE_SIZE; left += 2 * blockDim.x * stride) {
            const SCAN_TYPE sum = tile[PADDED(left)];
            tile[PADDED(left)] = tile[PADDED(left + stride)];
            tile[PADDED(left + stride)] += sum;
        }
    }
    __syncthreads();
    return total;
}

// Scan every tile of an array in place. tile_sums gets one element per tile.
extern "C" __global__ void scan_tiles(SCAN_TYPE *array, SCAN_TYPE *tile_sums, int length) {
    __shared__ SCAN_TYPE tile[PADDED(TILE_SIZE)];
    const unsigned num_tiles = (length + TILE_SIZE - 1u) / TILE_SIZE;
    for (unsigned t = blockIdx.x; t < num_tiles; t += gridDim.x) {
        const unsigned first = t * TILE_SIZE;

        for (unsigned i = threadIdx.x; i < TILE_SIZE; i += blockDim.x)
            tile[PADDED(i)] = first + i < length ? array[first + i] : 0;
        const SCAN_TYPE sum = scan_tile(tile);
        if (threadIdx.x == 0) tile_sums[t] = sum;
        for (unsigned i = threadIdx.x; i < TILE_SIZE && first + i < length; i += blockDim.x)
            array[first + i] = tile[PADDED(i)];
        __syncthreads();
    }
}

// Add to the elements of each tile the sum of the preceding tiles.
extern "C" __global__ void add_tile_offsets(SCAN_TYPE *array, const SCAN_TYPE *__restrict__ tile_offsets,
                                            int length) {
    for (unsigned i = global_thread(); i < length; i += grid_threads()) array[i] += tile_offsets[i / TILE_SIZE];
}
