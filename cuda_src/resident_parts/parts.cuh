// Parts of a graph as a block holds them in its shared memory.
//
// Every vertex has a place: the vertices that a part owns lie side by side there, a part beginning at a multiple of
// PLACES. A ghost of a part is another's vertex from which at most K arcs lead to one of its own. In a part its own
// vertices and its ghosts have local ids of 15 bits, own vertices first, each kind beginning at a multiple of 32; the
// local id of an own vertex is its place less the part's first. Of either kind, vertices that are close to each other
// are dealt out to groups of 32, since the bits of such a group are one thread's work.
#pragma once

#include "graph.cuh"

#define PLACES 32  // of a group
#define NO_VERTEX (-1)  // at a place
#define NO_PLACE (-1)   // of a ghost

// A part knows by a bit for each reader who is to be told of a vertex. The first reader is itself; what the last
// stands for, if it is there, is all parts.
#define READERS 32
#define NO_READER (-1)
#define ALL_PARTS (-2)

// The row of a local vertex: four local ids, the vertex's own where there are fewer. A row of more goes on in other
// quads, which lie behind those of all vertices: with this flag, the last id is that of the next quad.
#define IN_NEXT_QUAD 0x8000u

struct graph_rows {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
};

struct __align__(8) quad {
    unsigned short ids[4];
};

// Quads that a row needs besides its first.
__device__ __forceinline__ unsigned more_quads(unsigned degree) { return degree > 4 ? (degree - 2) / 3 : 0; }

struct part {
    long long first;  // of its ids, in the arrays of all parts'
    int first_place;
    int own;     // vertices
    int ghosts;
    int ids;  // own and ghosts, each rounded up to whole groups, and what long rows need besides, rounded up
};

__device__ __forceinline__ unsigned padded(unsigned number) { return (number + PLACES - 1) / PLACES * PLACES; }

// Deal out vertices to the groups that they need: the id of the n-th of so many, ghosts in the order of their places.
__device__ __forceinline__ unsigned dealt_out(unsigned n, unsigned number) {
    const unsigned groups = padded(number) / PLACES;
    return n % groups * PLACES + n / groups;
}
