// Exclusive prefix sums: of a tile in shared memory by one block, and of an array of any length in global memory.
//
// The tile is scanned by the two sweeps of Blelloch (Harris, Sengupta and Owens, GPU Gems 3, ch. 39). Think of a
// binary tree over the elements. Going up, every inner node gets the sum of its subtree, which is kept in the
// place of the subtree's last element. Going down from a root of 0, a node hands its own value to the left child,
// and that plus the left subtree's sum to the right one: each leaf ends with the sum of everything before it.
//
// Bank conflicts. Near the root the elements in use are 32, 64, ... apart and would all lie in one of the 32 banks
// of shared memory. A word of padding after every 32 elements moves them to different ones; another after every 1024
// does so in tiles longer than that.
//
// Arrays. scan_tiles scans every tile of the array alone and stores the tiles' sums; these are scanned in turn, as
// an array TILE_SIZE times shorter, until one tile is left; add_tile_offsets then adds to every tile the sum of the
// preceding ones. The host, bfsbench/variants/scan.py, issues these launches.
//
// The includer defines TILE_SIZE, a power of two, and before including this SCAN_TYPE if elements are not of type
// int. Blocks of any size scan tiles of any size.
#pragma once

#include "graph.cuh"

#ifndef SCAN_TYPE
#define SCAN_TYPE int
#endif

#define PADDED(i) ((i) + (i) / 32 + (i) / 1024)

// Scan PADDED(TILE_SIZE) words of shared memory, element i at PADDED(i), and return the sum of all elements. For all
// threads of the block; begins and ends with a barrier.
__device__ __forceinline__ SCAN_TYPE scan_tile(SCAN_TYPE *tile) {
    // `stride` elements lie between neighbouring nodes of a depth of the tree; each thread takes pairs of them.
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

// Scan every tile of an array in place. tile_sums gets an element for each tile.
extern "C" __global__ void scan_tiles(SCAN_TYPE *array, SCAN_TYPE *tile_sums, int length) {
    __shared__ SCAN_TYPE tile[PADDED(TILE_SIZE)];
    const unsigned num_tiles = (length + TILE_SIZE - 1u) / TILE_SIZE;
    for (unsigned t = blockIdx.x; t < num_tiles; t += gridDim.x) {
        const unsigned first = t * TILE_SIZE;
        // Past the end of the array the tile is filled with zeros.
        for (unsigned i = threadIdx.x; i < TILE_SIZE; i += blockDim.x)
            tile[PADDED(i)] = first + i < length ? array[first + i] : 0;
        const SCAN_TYPE sum = scan_tile(tile);
        if (threadIdx.x == 0) tile_sums[t] = sum;
        for (unsigned i = threadIdx.x; i < TILE_SIZE && first + i < length; i += blockDim.x)
            array[first + i] = tile[PADDED(i)];
        __syncthreads();
    }
}

// Add to the elements of every tile the sum of the preceding tiles.
extern "C" __global__ void add_tile_offsets(SCAN_TYPE *array, const SCAN_TYPE *__restrict__ tile_offsets,
                                            int length) {
    for (unsigned i = global_thread(); i < length; i += grid_threads()) array[i] += tile_offsets[i / TILE_SIZE];
}
