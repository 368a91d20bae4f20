// Launches child kernels: each row of high degree gets a grid of its own (Busato and Bombieri 2014, section 5.3).
//
// Files with child kernels are compiled with -rdc, which leaves a thread fewer registers. Before compute
// capability 9.0, kernels with 1024 threads per block then spill 100 to 300 bytes.
#pragma once

#include "search.cuh"

#if CHILD_KERNELS

// Largest hash table of a child kernel, in bytes. A device-side launch gets this much shared memory without
// an opt-in by the host.
constexpr int MAX_CHILD_HASH_BYTES = 32 << 10;
// Largest number of child kernels of a level. It is below the device's limit of pending launches. When an
// H200 (CUDA 13.0) had to refuse launches, it hung once in a few thousand searches.
constexpr int MAX_CHILDREN = 2048;

// Expands one row in a grid of its own. Each thread visits at most `search.k3` neighbours, where k3 is a knob.
__global__ void bfs4k_child(search_context search, adjacency row);

// Launches a child kernel for a row, with the caller's block size. Returns false if the level already has
// MAX_CHILDREN child kernels, or if the device refuses the launch.
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
