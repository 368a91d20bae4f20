// Data that all regimes share: the arrays of a search, the description of a frontier, and the counts that
// blocks add to the next frontier. The file adaptive.md has the units of all fields, and tables of who writes
// and reads them.
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

constexpr int PART = 4 * WINDOW;  // the most arcs of a queue entry in global memory
constexpr int QUAD = 4;           // the most arcs of a queue entry in a cluster; QUAD threads expand an entry

namespace layers {
enum { cluster, push, pull, block };
}

// A row that can be cut into queue entries. A frontier is a queue of runs of arcs, not of vertices. The
// thread that reaches a vertex reads the offsets of its row, so the next level need not read offsets. The row
// of a hub becomes many entries, so that no thread waits for it.
typedef cut_row<PART, OF_ARRAY> queue_row;  // a row cut into entries of up to PART arcs

// The description of a frontier. Each block has a copy after the barrier of the step that found
// the frontier. counted_barrier::wait sets the members that are declared before `must_pull`.
struct frontier {
    // The numbers of vertices and edges that the step has found. After a RUN_LEVELS step, `vertices` is
    // instead the number of the first level that is not yet expanded. after_step() moves this number to
    // course::level, and sets `vertices` to 0.
    tally found;
    unsigned queued;  // the number of queue entries
    int unqueued;     // true if some vertices of the frontier have not been queued
    // True if some vertices of the frontier are only in the bitmap of reached vertices. No list or queue
    // holds these vertices, so no step can push them, and the next step must be PULL.
    int must_pull;
    unsigned rests;  // number of pieces of long rows that PULL_RESTS must read
};

// The next frontier, in global memory. All blocks add to it in the step that finds it. After
// the barrier, blocks read `unlisted` and `rests` only if some block has set the flag `notice`.
struct next_frontier {
    counted_barrier barrier;
    // True if some vertices of the frontier are on no block's list. These
    // vertices are in the queue, unless a block has stopped queueing.
    int unlisted;
    unsigned rests;
    unsigned queued_units;  // number of edges, in units of edge_share, that all blocks have reported
};

// State in global memory that outlives a step. There are three frontiers: a step reads the first, adds to the
// second, and empties the third. So one barrier of all blocks per step suffices.
struct search_state {
    in_turn<next_frontier, 3> frontiers;
    int failed;  // true if a block has waited too long at the barrier
    // The number of the next search's first step. Each search empties the frontiers that the first two steps
    // of the next search use.
    int first_step;
    // The numbers of unreached vertices and of arcs that lead to them. A PULL step that follows a LIST step
    // counts them.
    in_turn<tally, 3> unreached;
};

// The limits and costs by which the kernel decides on steps. The host sets them.
struct thresholds {
    // The knobs SMALL_PARTS and TINY_PARTS, which the host adapts to the graph. The cluster expands levels of
    // at most `small` queue entries. One block alone expands levels of at most `tiny` queue entries.
    unsigned small, tiny;
    unsigned listed;  // A push that is expected to find more vertices than `listed` may be a LIST step.
    // The cost of pushing an arc that leads to a new vertex.
    // The unit is the time to read a bit of the bitmap.
    int pushed_edge;
    int may_pull;
};

struct bfs {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;  // the index of each vertex's first in-neighbour in `row_indices`
    const int *row_indices;
    offset_t row_indices_end;  // the length of row_indices
    int num_vertices;
    int num_entered;  // the number of vertices that have in-neighbours, if levels may be pulled
    offset_t num_edges;
    search_answer answer;
    thresholds when;
    // One bit per vertex. A vertex whose bit is 0 need not look for a parent. Either the vertex is reached,
    // or it has no in-neighbours and the search has stored "unreached". With MANY_VERTICES, the first pulled
    // level fills this bitmap.
    unsigned *open;
    // The queues of even and of odd steps. Each queue has room for arcs / PART + 2 *
    // vertices + 32768 entries: the rows of all vertices, and the queues of a cluster.
    // A row of L arcs has fewer than L / PART + 2 entries. A PULL step writes pieces
    // of long rows into its own queue, and the step PULL_RESTS reads these pieces.
    part *queues[2];
    search_state *state;
    // A region has 2^region_shift neighbouring ids. Region r belongs to the block with rank r modulo the size
    // of the cluster.
    int region_shift;
    offset_t first_record;  // the index of the first record in column_indices (short_rows.cuh)

    __device__ __forceinline__ part *queue(int step) const { return queues[step % 2]; }
    template <class Row = queue_row>
    __device__ __forceinline__ Row row_of(int v) const {
        return Row{(edge_t)__ldg(&row_offsets[v]), (edge_t)__ldg(&row_offsets[v + 1])};
    }
    __device__ __forceinline__ void reach(int v, int level, int parent) const {
        answer.level(v, level);
        answer.parent(v, parent);
    }
    // Returns the number of words of a bitmap with one bit per vertex.
    __device__ __forceinline__ unsigned words() const { return (num_vertices + 31u) / 32; }
};

// Queues rows in global memory for step `step`, at most one row per lane. All lanes of a warp must call this
// function.
__device__ __forceinline__ void append_rows(const bfs &search, const queue_row &mine, unsigned parts, int step) {
    next_frontier &next = search.state->frontiers[step];
    const unsigned slot = reserve_together(parts, [&](unsigned total) { return next.barrier.reserve(total); });
    write_parts(search.queue(step), slot, mine, parts);
}
