// Data that all regimes share: the arrays of a search, the facts about a frontier, and the counts that blocks add to
// the next frontier. adaptive.md, in the repository, has the units of all fields, and tables of who writes and reads
// them.
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

constexpr int PART = 4 * WINDOW;  // the most arcs of a part in global memory
constexpr int QUAD = 4;           // the most arcs of a part in a cluster, and the number of threads that expand it

namespace layers {
enum { cluster, push, pull, block };
}

// A frontier is a queue of parts of rows, not of vertices. The thread that discovers a vertex reads the
// vertex's offsets, so the expansion begins with column indices. The row of a hub is many parts, so that no
// thread waits for it.
typedef cut_row<PART, OF_ARRAY> queue_row;  // a row cut as in global memory

// The facts about a frontier that all blocks know after the barrier at the end of the step that found it. Members
// before `must_pull` are the sums that counted_barrier::wait fills.
struct frontier {
    tally found;      // after RUN_LEVELS: the frontier's edges, and the number of its level instead of its vertices
    unsigned queued;  // parts
    int unqueued;     // true if some vertices have not been queued
    // True if unqueued vertices are in the bitmap alone, on no block's list, so they cannot be queued.
    int must_pull;
    unsigned rests;   // number of pieces of long rows, for PULL_RESTS
};

// A frontier in global memory, to which blocks add in the step that finds it. `unlisted` and `rests` are read only
// after a notice in the barrier.
struct next_frontier {
    counted_barrier barrier;
    // True if some vertices are on no block's list; they are in the queue, unless a block has stopped queueing.
    int unlisted;
    unsigned rests;
    unsigned queued_units;  // see edge_limit
};

// State in global memory that outlives a step. Of three frontiers, a step reads one, adds to the second, and empties
// the third. So one barrier per step suffices.
struct search_state {
    in_turn<next_frontier, 3> frontiers;
    int failed;       // a block has waited too long at the barrier
    int first_step;   // first step of the next search, whose first two frontiers the last search has left empty
    in_turn<tally, 3> unreached;  // unreached vertices and arcs that lead to them, counted by a PULL after a LIST
};

// The limits and prices by which the kernel decides on steps. The host sets them.
struct thresholds {
    unsigned small, tiny;  // the most parts of a level that the cluster expands, and that one block alone expands
    unsigned listed;       // number of vertices: a step that is expected to find more may be LIST
    int pushed_edge;       // price of pushing an arc that leads to a new vertex, in looks
    int may_pull;
};

struct bfs {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;  // in-neighbours, for pulling
    const int *row_indices;
    offset_t row_indices_end;  // the number of row_indices
    int num_vertices;
    int num_entered;  // vertices that have in-neighbours, if levels may be pulled
    offset_t num_edges;
    search_answer answer;
    thresholds when;
    // One bit per vertex: 0 if the vertex is known to have no in-neighbours, and "unreached" is stored for it.
    unsigned *open;
    part *queues[2];  // queues of even and of odd steps; each has room for all rows and for a cluster's queues
    search_state *state;
    int region_shift;       // 2^region_shift neighbouring ids are a region; the blocks of a cluster own regions in turn
    offset_t first_record;  // where records begin among the column indices (short_rows.cuh)

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

// Queue rows for a step in global memory, at most one per lane. All lanes of a warp must call it.
__device__ __forceinline__ void append_rows(const bfs &search, const queue_row &mine, unsigned parts, int step) {
    next_frontier &next = search.state->frontiers[step];
    const unsigned slot = reserve_together(parts, [&](unsigned total) { return next.barrier.reserve(total); });
    write_parts(search.queue(step), slot, mine, parts);
}
