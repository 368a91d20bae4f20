// The answer of a search for each vertex: its level or, with TREE, its parent. Callers pass the level and,
// where they know it, the parent. The compiler removes code for the value that the search does not store.
#pragma once

#include "graph.cuh"

template <bool tree>
struct answer_of {
    int *levels;

    __device__ __forceinline__ void level(int v, int level) const { levels[v] = level; }
    __device__ __forceinline__ void parent(int v, int u) const {}
    __device__ __forceinline__ int tail(edge_t arc) const { return 0; }
    __device__ __forceinline__ void unreached(unsigned v) const { levels[v] = UNREACHED; }
};

// With TREE, the answer of a search is the parent of each vertex. tail() returns the vertex from which an arc
// starts. It reads this vertex from an array with one element per arc, because queues hold only offsets of
// arcs.
template <>
struct answer_of<true> {
    int *parents;
    const int *edge_sources;

    __device__ __forceinline__ void level(int v, int level) const {}
    __device__ __forceinline__ void parent(int v, int u) const { parents[v] = u; }
    __device__ __forceinline__ int tail(edge_t arc) const { return __ldg(&edge_sources[arc]); }
    __device__ __forceinline__ void unreached(unsigned v) const { parents[v] = UNREACHED; }
};
typedef answer_of<TREE> search_answer;

// Returns whether any lane of the warp has `found` set. With TREE, `parent` in every lane becomes the
// `parent` of the first lane whose `found` is set. All lanes of a warp must call this function.
__device__ __forceinline__ bool any_parent(bool found, int &parent) {
    if (!TREE) return __any_sync(ALL_LANES, found);
    const unsigned lanes = __ballot_sync(ALL_LANES, found);
    parent = __shfl_sync(ALL_LANES, parent, __ffs(lanes | 1u << 31) - 1);
    return lanes != 0;
}
