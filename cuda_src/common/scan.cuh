// Functions and kernels that compute exclusive prefix sums: of a tile in a block's shared memory, and of an
// array of any length in global memory.
//
// Blelloch's two sweeps compute the prefix sums of a tile (Harris, Sengupta and Owens, GPU Gems 3, ch. 39).
// The elements are the leaves of a binary tree. On the way up, every inner node gets the sum of its subtree,
// stored at the subtree's last element. On the way down, the root begins with 0. Each node gives its value to
// its left child, and its value plus the left subtree's sum to its right child. So each leaf ends with the
// sum of all elements before it.
//
// Padding avoids bank conflicts. Near the root, the elements in use are 32, 64, ... apart, so all would lie
// in one bank of shared memory. A word of padding after every 32 elements moves them to different banks. In
// longer tiles, a further word of padding after every 1024 elements is necessary.
//
// For an array, scan_tiles computes the prefix sums within each tile, and stores the sums of the tiles. The
// host then applies scan_tiles to the array of these sums, and so on, until an array has a single tile. Then
// add_tile_offsets adds to every tile the sum of the preceding tiles. The host's loop is in
// bfsbench/variants/scan.py.
//
// The host defines the macro TILE_SIZE, a power of two. The including file defines SCAN_TYPE if the elements are
// not of type int. A block of any size can process a tile of any size.
#pragma once

#include "graph.cuh"

#ifndef SCAN_TYPE
#define SCAN_TYPE int
#endif

#define PADDED(i) ((i) + (i) / 32 + (i) / 1024)

// Replaces each element of a tile in shared memory by the sum of the elements before this element. The tile has
// PADDED(TILE_SIZE) words, with element i at PADDED(i). Returns the sum of all elements. All threads of the block
// must call the function, which begins and ends with a barrier.
__device__ __forceinline__ SCAN_TYPE scan_tile(SCAN_TYPE *tile) {
    // Neighbouring nodes at the same depth of the tree are `stride` elements apart. Each thread combines
    // pairs of these nodes.
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

// Replaces each element of an array by the sum of the elements that precede it in its tile. tile_sums gets
// the sum of each tile.
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

// Adds to each element of a tile the sum of all elements of the preceding tiles.
extern "C" __global__ void add_tile_offsets(SCAN_TYPE *array, const SCAN_TYPE *__restrict__ tile_offsets,
                                            int length) {
    for (unsigned i = global_thread(); i < length; i += grid_threads()) array[i] += tile_offsets[i / TILE_SIZE];
}
