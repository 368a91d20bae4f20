// Estimates of how many vertices and arcs a level will find. They follow from the numbers of unreached vertices
// and arcs, and from the numbers that earlier levels found. Approximate divisions suffice. All blocks get equal
// results, because they execute equal instructions on equal numbers.
#pragma once

#include "tally.cuh"

// Reciprocals of the numbers of vertices and arcs that a level is expected to find. learn() multiplies by them.
struct expected_find {
    float per_vertex, per_arc;
};

// Returns whether a level is likely to find more than 4 * small. The estimate assumes that levels keep growing as they
// grew from `before` to `size`. All sizes are in edges, or all in parts. The result is false for a level below small /
// 8, and for levels of roads, which grow slowly.
__device__ __forceinline__ bool outgrows(float size, float before, float small) {
    return 8 * size > small && size * size > 4 * small * before;
}

struct arc_spread {
    static constexpr float LEAST = 0.02f;  // a lower bound of `spread`

    // Unreached vertices, and their arcs; may fall below 0, because a cluster reports parts as vertices.
    long long unreached, unexplored;
    float spread;  // vertices that the last level found / vertices that it was expected to find
    float cover;   // arcs of found vertices / expected arcs, averaged over levels; 0 if unknown

    __device__ __forceinline__ float rows() const { return fmaxf((float)unreached, 0); }
    __device__ __forceinline__ float arcs() const { return fmaxf((float)unexplored, 0); }
    // Returns the share of the unreached vertices to which `edges` edges lead, if arcs are spread evenly. Of these
    // edges, `hits` lead to unreached vertices. hits / (hits + rows) approximates min(hits, rows) / rows.
    __device__ __forceinline__ float met_by(edge_t edges, edge_t all_edges) const {
        const float hits = __fdividef((float)edges * arcs(), (float)all_edges);
        return __fdividef(hits, hits + rows() + 1);
    }
    // Returns the numbers of vertices and arcs that a level finds if it expands `expanded` edges, and if arcs
    // are spread evenly.
    __device__ __forceinline__ expected_find expected(edge_t expanded, edge_t all_edges) const {
        const float met = met_by(expanded, all_edges);
        return {__fdividef(1, rows() * met + 1), __fdividef(1, arcs() * met + 1)};
    }

    __device__ __forceinline__ void learn(const tally &found, const expected_find &expected) {
        spread = fminf(fmaxf((float)found.vertices * expected.per_vertex, LEAST), 1.0f);
        const float its_cover = fminf(fmaxf((float)found.edges * expected.per_arc, spread), 1.0f);
        cover = cover > 0 ? (cover + its_cover) / 2 : its_cover;
    }
    // Returns the number of edges E for which cost * E = fixed + min(rows * arcs / (spread * E), arcs).
    __device__ __forceinline__ float edges_meeting(float cost, float fixed) const {
        const float square = fixed * fixed + 4 * cost * __fdividef(rows() * arcs(), spread);
        const float meeting = fixed + square * rsqrtf(square);
        return __fdividef(fminf(meeting, 2 * (fixed + arcs())), 2 * cost);
    }
    // Returns the number of edges of some unreached vertices, if they have the mean degree of all unreached vertices.
    __device__ __forceinline__ edge_t edges_of(unsigned vertices) const {
        return (edge_t)fminf((float)vertices * __fdividef(arcs(), rows() + 1), arcs());
    }
};
