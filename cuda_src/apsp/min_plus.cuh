// Matrices of distances, for all kernels of all-pairs shortest paths.
//
// A matrix is stored by rows of `pitch` elements; `pitch` is a multiple of the tile size. Elements beyond the
// graph's vertices are INFINITY_DISTANCE, so no path leads through them. The host defines the macro TRACKS.
// If TRACKS is 1, a kernel that finds a shorter path stores an intermediate vertex of the path in `via`.
#pragma once

#include "add_min.cuh"
#include "graph.cuh"

// Stands for the distance if there is no path. The sum of two INFINITY_DISTANCE still fits an int, so kernels
// add distances without testing whether a path exists.
#define INFINITY_DISTANCE (0x3FFFFFFF)

// Tests a path of length a + b through vertex k. If the path is shorter than `best`, stores its length in `best`
// and, with TRACKS, k in `via`. A path of equal length is not stored, so following `via` never runs into a cycle.
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

// Copies the weights of all arcs into the matrix. Elements beyond the graph's vertices become INFINITY_DISTANCE. If
// `via` is not null, its elements become -1. Each block fills one row.
extern "C" __global__ void apsp_begin(const int *__restrict__ weights, int num_vertices, int *__restrict__ matrix,
                                      int *__restrict__ via, int pitch) {
    const size_t row = blockIdx.x;
    for (unsigned column = threadIdx.x; column < pitch; column += blockDim.x) {
        const bool inside = row < num_vertices && column < num_vertices;
        matrix[row * pitch + column] = inside ? weights[row * num_vertices + column] : INFINITY_DISTANCE;
        if (via) via[row * pitch + column] = -1;
    }
}

// Stores in `hops`, for every pair of vertices, the second vertex of a shortest path, or -1 if there is no path.
// Each block fills one row. The loop replaces the path's last vertex by an intermediate vertex of the path, until a
// single arc from the row's vertex is left.
extern "C" __global__ void apsp_next_hops(const int *__restrict__ matrix, const int *__restrict__ via,
                                          int num_vertices, int *__restrict__ hops, int pitch) {
    const size_t row = blockIdx.x;
    for (unsigned column = threadIdx.x; column < pitch; column += blockDim.x) {
        int hop = column;
        while (via[row * pitch + hop] >= 0) hop = via[row * pitch + hop];
        hops[row * pitch + column] = matrix[row * pitch + column] < INFINITY_DISTANCE ? hop : -1;
    }
}
