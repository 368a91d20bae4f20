// Launching child kernels: rows of high degree, each by a grid of its own (section 5.3 of the paper).
//
// Registers. Files with child kernels are compiled for linking (-rdc), which leaves fewer registers to a thread: before
// compute capability 9.0 kernels of 1024 threads a block then spill 100 to 300 bytes, without it none.
#pragma once

#include "search.cuh"

#if CHILD_KERNELS

// Bytes for hashing within the shared memory that a device-side launch can have without the host's opt-in.
#define MAX_CHILD_HASH_BYTES (32 << 10)
// Most child kernels of a level: fewer than may be pending. When an H200 (CUDA 13.0) had to refuse some, it hung
// once in a few thousand searches.
#define MAX_CHILDREN 2048

// Expands a row, with k3 neighbours per thread.
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
