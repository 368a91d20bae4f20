// What is left of a graph that is searched, and how its arcs are spread: an estimate of what a level will find, from
// what those before it have found. Quick instructions will do; all that have seen the same numbers get the same.
#pragma once

#include "tally.cuh"

// What a level is expected to find: one over its vertices and over their arcs.
struct expected_find {
    float per_vertex, per_arc;
};

// Whether a level, after one of another size, is no trifle and likely to find several times what is small, as levels
// grow: sizes in edges or in parts of rows. Levels of roads and meshes grow slowly, and never do.
__device__ __forceinline__ bool outgrows(float size, float before, float small) {
    return 8 * size > small && size * size > 4 * small * before;
}

struct arc_spread {
    static constexpr float LEAST = 0.02f;  // no smaller share of the expected vertices is believed

    long long unreached, unexplored;  // vertices, and their arcs: below 0 if parts have been counted for some
    float spread;  // vertices that the last level has found, as a share of those expected
    float cover;   // the same of arcs, levels before included; 0 before there was one

    __device__ __forceinline__ float rows() const { return fmaxf((float)unreached, 0); }
    __device__ __forceinline__ float arcs() const { return fmaxf((float)unexplored, 0); }
    // The share of the unreached vertices that this number of edges meets if they are spread evenly over `all_edges`:
    // `hits` of them lead to such vertices, and meet about min(hits, rows).
    __device__ __forceinline__ float met_by(edge_t edges, edge_t all_edges) const {
        const float hits = __fdividef((float)edges * arcs(), (float)all_edges);
        return __fdividef(hits, hits + rows() + 1);
    }
    // What a level finds that expands this number of edges, if they are spread evenly.
    __device__ __forceinline__ expected_find expected(edge_t expanded, edge_t all_edges) const {
        const float met = met_by(expanded, all_edges);
        return {__fdividef(1, rows() * met + 1), __fdividef(1, arcs() * met + 1)};
    }
    // Learn from what a level has found instead.
    __device__ __forceinline__ void learn(const tally &found, const expected_find &expected) {
        spread = fminf(fmaxf((float)found.vertices * expected.per_vertex, LEAST), 1.0f);
        const float its_cover = fminf(fmaxf((float)found.edges * expected.per_arc, spread), 1.0f);
        cover = cover > 0 ? (cover + its_cover) / 2 : its_cover;
    }
    // The number of edges at which edges * cost = fixed + min(rows * arcs / spread / edges, arcs).
    __device__ __forceinline__ float edges_meeting(float cost, float fixed) const {
        const float square = fixed * fixed + 4 * cost * __fdividef(rows() * arcs(), spread);
        const float meeting = fixed + square * rsqrtf(square);
        return __fdividef(fminf(meeting, 2 * (fixed + arcs())), 2 * cost);
    }
    // About as many edges as these vertices have if they are like all unreached ones.
    __device__ __forceinline__ edge_t edges_of(unsigned vertices) const {
        return (edge_t)fminf((float)vertices * __fdividef(arcs(), rows() + 1), arcs());
    }
};
