// What is left of a graph that is searched, and how its arcs are spread: an estimate of what a level will find, from
// what those before it have found. Quick instructions will do; all that have seen the same numbers get the same.
#pragma once

#include "tally.cuh"

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
    // Learn from a level that has expanded this number of edges.
    __device__ __forceinline__ void learn(edge_t expanded, const tally &found, edge_t all_edges) {
        const float met = met_by(expanded, all_edges);
        spread = fminf(fmaxf(__fdividef((float)found.vertices, rows() * met + 1), LEAST), 1.0f);
        const float its_cover = fminf(fmaxf(__fdividef((float)found.edges, arcs() * met + 1), spread), 1.0f);
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
