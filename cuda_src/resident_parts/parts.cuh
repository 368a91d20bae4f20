// Parts of a graph as a block holds them in its shared memory.
//
// Every vertex has a place: the vertices that a part owns lie side by side there, a part beginning at a multiple of
// PLACES. A ghost of a part is another's vertex from which at most K arcs lead to one of its own. In a part its own
// vertices and its ghosts have local ids of 15 bits, own vertices first, each kind beginning at a multiple of 32.
#pragma once

#include "graph.cuh"

#define PLACES 32  // that a warp reads at a time
#define NO_VERTEX (-1)  // at a place
#define NO_PLACE (-1)   // of a ghost

#define GHOST 0x8000u  // flag of a local id
#define LONG_ROW 0xffffu

// A part may be told to whom it has to tell of a vertex by a bit for each reader. The first reader is itself; what the
// last stands for, if it is there, is all parts.
#define READERS 32
#define NO_READER (-1)
#define ALL_PARTS (-2)

struct graph_rows {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;
    const int *row_indices;
};

// The row of a local vertex: four local ids, the vertex's own where there are fewer. A longer row has its vertices in
// quads behind those of all vertices: here are the first one's local id and their number.
struct __align__(8) quad {
    unsigned short ids[4];

    __device__ __forceinline__ bool is_long() const { return ids[3] == LONG_ROW; }
};

struct part {
    long long first_quad;   // in the array of all parts' quads
    long long first_ghost;  // likewise
    int first_place;
    int own;     // vertices
    int ghosts;
    int quads;   // own and ghosts, each rounded up to a multiple of PLACES, and what long rows need besides
};

__host__ __device__ __forceinline__ constexpr unsigned padded(unsigned number) {
    return (number + PLACES - 1) / PLACES * PLACES;
}
