// Launching child kernels: rows of high degree, each by a grid of its own (section 5.3 of the paper).
//
// Registers. Files with child kernels are compiled for linking (-rdc), which leaves fewer registers to a thread: before
// compute capability 9.0 kernels of 1024 threads a block then spill 100 to 300 bytes, without it none.
#pragma once

#include "search.cuh"

#if CHILD_KERNELS

// Shared memory that a kernel launched from the device can have without the host's help leaves this for hashing.
#define MAX_CHILD_HASH_BYTES (32 << 10)
// Child kernels of a level: fewer than may be pending. A device that had to refuse some was seen to hang, once in a
// few thousand searches (H200, CUDA 13.0).
#define MAX_CHILDREN 2048

// Expands a row. There are as many threads as leave k3 neighbours to each.
__global__ void bfs4k_child(search_context search, adjacency row);

// Hand a row to a child kernel with the caller's block size; false if the level has too many or the device refuses.
__device__ __forceinline__ bool launch_child(const search_context &search, const adjacency &row) {
    if (atomicAdd(&search.state->children[search.level % 2], 1) >= MAX_CHILDREN) {
        search.count(counted::refused);
        return false;
    }
    search_context child = search;
    child.hash_bytes = min(search.hash_bytes, MAX_CHILD_HASH_BYTES);
    const unsigned neighbours = search.k3 * blockDim.x, blocks = (row.degree + neighbours - 1) / neighbours;
    bfs4k_child<<<blocks, blockDim.x, child.hash_bytes, cudaStreamFireAndForget>>>(child, row);
    const bool launched = cudaGetLastError() == cudaSuccess;
    search.count(launched ? counted::children : counted::refused);
    search.count(counted::child_blocks, launched ? blocks : 0);
    return launched;
}

#endif
