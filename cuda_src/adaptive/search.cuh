// What the regimes share: the data of a search, what is known of a frontier, and what blocks add to the next.
// adaptive.md has an order to read in, the units of all fields, and who writes and reads them when.
#pragma once

#include "answer.cuh"
#include "atomics.cuh"
#include "bitmap.cuh"
#include "counted_barrier.cuh"
#include "edge_limit.cuh"
#include "graph.cuh"
#include "in_turn.cuh"
#include "neighbour.cuh"
#include "profile.cuh"
#include "row_parts.cuh"
#include "tally.cuh"

static_assert(PART == 4 * WINDOW, "the host defines PART, the arcs of a part");

// A frontier is a queue of parts of rows rather than of vertices, because its expansion asks for nothing else: the
// offsets have been read when the vertex was discovered. The row of a hub is many parts, each work for few threads.
typedef cut_row<PART, OF_ARRAY> queue_row;  // as queued in global memory

// What is known of a frontier when all have arrived at the barrier after the step that found it.
struct frontier {
    tally found;      // of what a cluster hands on the edges alone: the barrier has its level for vertices
    unsigned queued;  // parts
    int unqueued;     // not all of it has been queued
    int must_pull;    // nor can it be, since some of it is on no list of a block, but in the bitmap alone
    unsigned rests;   // pieces of long rows that are left of the level that found it
};

// The same while blocks add to it, in global memory. What is not in the words of the barrier comes with a notice.
struct next_frontier {
    counted_barrier barrier;
    int unlisted;  // some of it is on no list of a block, though perhaps in the queue
    unsigned rests;
    unsigned queued_units;  // of edges, see edge_limit
};

// A search takes steps, with a barrier of all blocks between them: a level, or a run of small ones. A step adds to one
// of three frontiers, which is empty, while that of the step before is read and the third is emptied.
struct search_state {
    in_turn<next_frontier, 3> frontiers;
    int failed;       // a block gave up waiting for the others
    int first_step;   // of the next search: the last one leaves the two frontiers after it empty
    in_turn<tally, 3> unreached;  // with their in-neighbours, as counted by the pulled level after LIST
};

// When to do what.
struct thresholds {
    unsigned small, tiny;  // parts of the largest frontier that a cluster expands, and that one of its blocks does
    unsigned listed;       // vertices, from which on a level only lists what it finds if the next is pulled
    int pushed_edge;       // cost of an arc to a new vertex, in looks
    int may_pull;
};

struct bfs {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;  // in-neighbours, for pulling
    const int *row_indices;
    offset_t row_indices_end;  // the last offset
    int num_vertices;
    int num_entered;  // vertices that have in-neighbours, if levels may be pulled
    offset_t num_edges;
    search_answer answer;
    thresholds when;
    unsigned *open;   // a bit a vertex: 0 if it is known to have no in-neighbours (and has its level)
    part *queues[2];  // of even and of odd steps, each with room for all rows and what a cluster holds
    search_state *state;
    int region_shift;       // 2^region_shift ids side by side are a region; a cluster's blocks take turns by regions
    offset_t first_record;  // among the column indices (short_rows.cuh)

    __device__ __forceinline__ part *queue(int step) const { return queues[step % 2]; }
    template <class Row = queue_row>
    __device__ __forceinline__ Row row_of(int v) const {
        return Row{(edge_t)__ldg(&row_offsets[v]), (edge_t)__ldg(&row_offsets[v + 1])};
    }
    __device__ __forceinline__ void reach(int v, int level, int parent) const {
        answer.level(v, level);
        answer.parent(v, parent);
    }
    __device__ __forceinline__ unsigned words() const { return (num_vertices + 31u) / 32; }  // of a bitmap
};

// Queue rows for a step in global memory: each lane one or none. For whole warps.
__device__ __forceinline__ void append_rows(const bfs &search, const queue_row &mine, unsigned parts, int step) {
    next_frontier &next = search.state->frontiers[step];
    const unsigned slot = reserve_together(parts, [&](unsigned total) { return next.barrier.reserve(total); });
    write_parts(search.queue(step), slot, mine, parts);
}
