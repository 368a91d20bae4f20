// Estimates how many vertices and arcs a level will find. The estimates follow from the numbers of unreached
// vertices and their arcs, and from the results of earlier levels. Approximate divisions suffice. All blocks
// get equal estimates, because they execute the same instructions on the same numbers.
#pragma once

#include "tally.cuh"

// Reciprocals of the numbers of vertices and arcs that a level is expected to find. The function learn()
// multiplies the numbers of found vertices and arcs by these reciprocals.
struct expected_find {
    float per_vertex, per_arc;
};

// Returns whether the next level is likely to be larger than 4 * `small`. The estimate assumes that levels keep growing
// by the factor `size` / `before`, the current size divided by the previous size. All three sizes count edges, or all
// count queue entries. The result is false if `size` is at most `small` / 8, or if levels grow slowly (road networks).
__device__ __forceinline__ bool outgrows(float size, float before, float small) {
    return 8 * size > small && size * size > 4 * small * before;
}

struct arc_spread {
    static constexpr float LEAST = 0.02f;  // the lower bound of `spread`

    // The number of unreached vertices, and the number of their arcs. Each number is an estimate and may fall
    // below 0, because a cluster counts queue entries instead of vertices.
    long long unreached, unexplored;
    float spread;  // (vertices that the last level found) / (vertices that it was expected to find)
    // The mean over levels of (arcs of found vertices) / (expected number of these arcs). At first it is 0.
    float cover;

    __device__ __forceinline__ float rows() const { return fmaxf((float)unreached, 0); }
    __device__ __forceinline__ float arcs() const { return fmaxf((float)unexplored, 0); }
    // Returns the share of the unreached vertices that a level is expected to find if it expands `edges` edges. The
    // expectation assumes that arcs are spread evenly. `hits` is the expected number of expanded edges that lead to
    // unreached vertices, and rows() is the number of all unreached vertices. The share is approximately
    // hits / (hits + rows()).
    __device__ __forceinline__ float met_by(edge_t edges, edge_t all_edges) const {
        const float hits = __fdividef((float)edges * arcs(), (float)all_edges);
        return __fdividef(hits, hits + rows() + 1);
    }
    // Returns reciprocals of the numbers of vertices and arcs that a level is expected to find. The level
    // expands `expanded` edges. The expectation assumes that arcs are spread evenly.
    __device__ __forceinline__ expected_find expected(edge_t expanded, edge_t all_edges) const {
        const float met = met_by(expanded, all_edges);
        return {__fdividef(1, rows() * met + 1), __fdividef(1, arcs() * met + 1)};
    }

    __device__ __forceinline__ void learn(const tally &found, const expected_find &expected) {
        spread = fminf(fmaxf((float)found.vertices * expected.per_vertex, LEAST), 1.0f);
        const float its_cover = fminf(fmaxf((float)found.edges * expected.per_arc, spread), 1.0f);
        cover = cover > 0 ? (cover + its_cover) / 2 : its_cover;
    }
    // Returns the number of edges E of a frontier at which pushing a level costs as much as pulling it. The
    // unit of costs is one lookup in a bitmap. Pushing costs `cost` * E. Pulling costs `fixed` plus the
    // number of lookups in rows, which is the minimum of rows() * arcs() / (spread * E) and arcs().
    __device__ __forceinline__ float edges_meeting(float cost, float fixed) const {
        const float square = fixed * fixed + 4 * cost * __fdividef(rows() * arcs(), spread);
        const float meeting = fixed + square * rsqrtf(square);
        return __fdividef(fminf(meeting, 2 * (fixed + arcs())), 2 * cost);
    }
    // Returns an estimate of the number of edges of `vertices` vertices. The estimate assumes the mean degree
    // of all unreached vertices.
    __device__ __forceinline__ edge_t edges_of(unsigned vertices) const {
        return (edge_t)fminf((float)vertices * __fdividef(arcs(), rows() + 1), arcs());
    }
};
