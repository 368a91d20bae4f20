// The parts into which a graph is divided, as data structures for the shared memory of a block.
//
// Each vertex has a place, which is its new number. The vertices that a part owns have the places of one range,
// which begins at a multiple of PLACES. The range has whole groups of PLACES places, some of which may have no
// vertex. A ghost of a part is a vertex that another part owns and from which at most K arcs lead to an own vertex.
// Own vertices and ghosts of a part have local ids of 15 bits, own vertices first. The ids of own vertices and the
// ids of ghosts each begin at a multiple of 32. The local id of an own vertex is its place minus the part's first
// place. One thread handles the bits of a group of 32 ids. To share the work evenly, vertices that are close to
// each other get ids in different groups.
#pragma once

#include "graph.cuh"

constexpr int PLACES = 32;      // number of places in a group
constexpr int NO_VERTEX = -1;  // marks a place without a vertex
constexpr int NO_PLACE = -1;   // stands for no place, for example for a local id that no ghost uses

// Length of a part's list of readers. The readers of a part are the part itself, which comes first, and all
// parts in which one of its vertices is a ghost. Each vertex has a mask with one bit per reader. If the list
// is too short, its last entry is ALL_PARTS.
constexpr int READERS = 32;
constexpr int NO_READER = -1;
constexpr int ALL_PARTS = -2;

// A quad holds the local ids of up to four neighbours of a vertex. The vertex's own id fills the places
// without a neighbour. If there are more neighbours, the fourth id is a link: the id of a further quad, with
// the flag IN_NEXT_QUAD. The further quads of all vertices follow after the first quads of all vertices.
constexpr unsigned IN_NEXT_QUAD = 0x8000;

struct graph_rows {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
};

struct __align__(8) quad {
    unsigned short ids[4];
};

// Returns the number of quads that a vertex with `degree` neighbours needs in addition to its first quad.
__device__ __forceinline__ unsigned more_quads(unsigned degree) { return degree > 4 ? (degree - 2) / 3 : 0; }

struct part {
    long long first;  // index of the part's first element in the arrays `quads` and `words`
    int first_place;
    int own;     // number of vertices that the part owns
    int ghosts;
    // Number of local ids, a multiple of PLACES. Every own vertex and every ghost has a local id. A vertex with more
    // than four neighbours has another local id for each further quad, which is a group of up to four neighbours.
    int ids;
};

__device__ __forceinline__ unsigned padded(unsigned number) { return (number + PLACES - 1) / PLACES * PLACES; }

// Returns the local id of vertex number n of `number` vertices. The function distributes the vertices to the
// smallest sufficient number of groups. Vertices n and n + 1 get ids in different groups, if there are several
// groups.
__device__ __forceinline__ unsigned dealt_out(unsigned n, unsigned number) {
    const unsigned groups = padded(number) / PLACES;
    return n % groups * PLACES + n / groups;
}
