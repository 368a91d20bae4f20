// Matrices of distances: what all kernels of all-pairs shortest paths share.
//
// A matrix is stored by rows of `pitch` elements, a multiple of the tile. Elements beyond the graph's vertices are
// INFINITY, so no path leads through them. With TRACKS, a macro of the host's, kernels record in `via` an
// intermediate vertex of each pair whose distance they lower.
#pragma once

#include "add_min.cuh"
#include "graph.cuh"

// Twice as much is an int: distances are added without a test whether there is a path.
#define INFINITY_DISTANCE (0x3FFFFFFF)

// Lowers `best` to a + b, the length of a path through vertex k. Only a shorter path is recorded. So the recorded
// vertices give the path of each distance, through pairs whose distances were final before, without a cycle.
__device__ __forceinline__ void relax(int &best, int &via, int a, int b, int k) {
#if TRACKS
    if (a + b < best) {
        best = a + b;
        via = k;
    }
#else
    best = add_min(a, b, best);
#endif
}

// One block a row, of the padded matrix: copies the weights, with the padding around them.
extern "C" __global__ void apsp_begin(const int *__restrict__ weights, int num_vertices, int *__restrict__ matrix,
                                      int *__restrict__ via, int pitch) {
    const size_t row = blockIdx.x;
    for (unsigned column = threadIdx.x; column < pitch; column += blockDim.x) {
        const bool inside = row < num_vertices && column < num_vertices;
        matrix[row * pitch + column] = inside ? weights[row * num_vertices + column] : INFINITY_DISTANCE;
        if (via) via[row * pitch + column] = -1;
    }
}

// One block a row: the second vertex of the shortest path of every pair. Each step goes to a vertex that is nearer to
// the row's, by fewer arcs, until one arc is left.
extern "C" __global__ void apsp_next_hops(const int *__restrict__ matrix, const int *__restrict__ via,
                                          int num_vertices, int *__restrict__ hops, int pitch) {
    const size_t row = blockIdx.x;
    for (unsigned column = threadIdx.x; column < pitch; column += blockDim.x) {
        int hop = column;
        while (via[row * pitch + hop] >= 0) hop = via[row * pitch + hop];
        hops[row * pitch + column] = matrix[row * pitch + column] < INFINITY_DISTANCE ? hop : -1;
    }
}
