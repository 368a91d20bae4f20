// Pushes medium frontiers (regime PUSH): all blocks expand the arcs of a queue in global memory, one thread per arc.
//
// A level is a chain of dependent accesses. A thread reads a queue entry, which is a run of arcs in one row.
// The thread reads the column index of an arc, reads the neighbour's bit in the bitmap, and claims the
// neighbour. Then a thread reads the offsets of the neighbour's row, and writes new queue entries.
//
// The level has two phases, so that all threads make each of these accesses at about the same time. In the first
// phase each warp takes several queue entries, and distributes their arcs over its lanes. The warp claims the
// neighbours, and appends claimed vertices to the list of its block. In the second phase the block goes through its
// list, one thread per vertex. The thread reads the offsets, stores the level, and writes queue entries for the
// next step. The block reserves the places of the rows' first entries with one atomic. The block reserves the
// places of further entries with one more atomic per round over the list.
//
// If the list is full, a warp itself stores levels and writes queue entries. If all blocks together have
// found so many edges that the next level is pulled, the blocks stop queueing. A LIST step is expected to
// find that many edges, so it only fills the lists. If the next level is pushed after all, a QUEUE step
// queues the listed vertices. If a list is full in a LIST step, PULL follows, so no step reads the queue
// entries that the warp writes.
//
// A claim is an atomic OR on the bitmap of reached vertices, so exactly one lane wins a vertex. Reading the
// bit before the claim avoids most atomics. The read may return an outdated word and miss a bit. Then the
// claim decides.
#pragma once

#include "asked_lately.cuh"
#include "block_list.cuh"
#include "search.cuh"

constexpr int CLAIMED = 8192;  // the capacity of a block's list of claimed vertices
constexpr int ARCS = 4;        // arcs that a thread expands at a time, if the warp has more than 64 arcs
typedef asked_lately<WIDE_OFFSETS ? 128 : 512> asked_here;
constexpr unsigned FEW_PARTS_OF_LANE = 4;  // the most queue entries after a row's first that one lane writes
// In each round over its list of claimed vertices, a block sets aside at most LONG_RESTS long rows. The
// warps of the block then take these rows in turn, and one warp writes all remaining queue entries of a row.
constexpr unsigned LONG_RESTS = 256;

struct push_buffers {
    block_list<CLAIMED> claimed;
    // The rows of the listed vertices get consecutive places in the queue for their
    // first entries, in the order of the list. `place` is the first of these places.
    unsigned place;
    unsigned further_place;  // where the further entries of the rows of this round begin in the queue
    // The long rows of this round. Each needs many queue entries. The first entry of each row is written elsewhere.
    // The member `parts` counts all other queue entries of this round's rows, including entries of short rows.
    rows_aside<LONG_RESTS> further;
    edge_limit<next_frontier> limit;
    block_tally found;
    warp_list few[MAX_WARPS];  // unreached vertices among a warp's neighbours, before the warp claims them
};

// Prepares a block's buffers for a step. The first thread of the block calls this function, before a barrier
// of the block. `keeps_list` is true if the step is a QUEUE step that reads the block's list.
__device__ __forceinline__ void clear(push_buffers &buffers, const edge_share &share, bool keeps_list) {
    if (!keeps_list) buffers.claimed.reset();
    buffers.further.reset();
    buffers.limit.reset(share);
    buffers.found.reset();
}

// Stores the level of a claimed vertex, and counts the vertex in `found`. Returns the row of the vertex. With TREE,
// this function stores no level, because claim_arcs stores the parent.
__device__ __forceinline__ queue_row reach_claimed(const bfs &search, int v, int level, tally &found) {
    const queue_row row = search.row_of(v);
    search.answer.level(v, level);
    found.count(row.end - row.begin);
    return row;
}

// Stores the levels of claimed vertices for which the block's list has no room, and queues their rows. Each
// lane passes at most one vertex. All lanes of a warp must call this function.
__device__ __noinline__ void reach_directly(const bfs &search, push_buffers &buffers, bool mine, int v, int step,
                                            int level) {
    tally found = {0, 0};
    const queue_row row = mine ? reach_claimed(search, v, level, found) : queue_row{0, 0};
    buffers.found.add(found);
    if (!buffers.limit.count(row.end - row.begin, search.state->frontiers[step]))
        append_rows(search, row, mine ? row.parts() : 0, step);
}

// Appends claimed vertices to the block's list. If the list has no room for these vertices,
// immediately stores their levels and queues their rows. All lanes of a warp must call this function.
template <int count>
__device__ __forceinline__ void list_claimed(const bfs &search, push_buffers &buffers, const bool (&mine)[count],
                                             const int (&v)[count], int step, int level) {
    if (buffers.claimed.append(mine, v)) return;
    for (int k = 0; k < count; ++k) reach_directly(search, buffers, mine[k], v[k], step, level);
}

// If `row` is long and the list of long rows has room, puts the row on that list, without
// its first queue entry, and returns 0. Otherwise returns the number of the row's queue
// entries after the first one. The lane's warp must then write these entries itself.
__device__ __forceinline__ unsigned further_parts(push_buffers &buffers, queue_row &row) {
    const unsigned further = max(row.parts(), 1u) - 1;
    if (further <= FEW_PARTS_OF_LANE) return further;
    const edge_t rest = row.origin() + PART;
    if (WIDE_OFFSETS && row.end - rest > 0x7fffffffu) return further;  // the rest does not fit part::length
    const unsigned place = atomicAdd(&buffers.further.count, 1u);
    if (place >= LONG_RESTS) return further;
    buffers.further.keep(place, rest, row.end - rest, atomicAdd(&buffers.further.parts, further));
    row.end = rest;
    return 0;
}

// Stores the levels of vertices of the block's list, and queues their rows. The block begins with entry `first` of
// the list, and each thread takes `count` vertices. The first queue entry of the i-th listed row goes to place
// buffers.place + i, which the caller has reserved. This entry is empty if the row is empty. The function
// itself reserves the places of further queue entries. All threads of the block must call this function.
template <int count>
__device__ __forceinline__ void queue_some(const bfs &search, push_buffers &buffers, next_frontier &next,
                                           unsigned first, unsigned size, int step, int level) {
    queue_row rows[count];
    unsigned further = 0, slot = 0;
    tally found = {0, 0};
    for (int k = 0; k < count; ++k) {
        const unsigned i = first + k * blockDim.x + threadIdx.x;
        rows[k] = i < size ? reach_claimed(search, buffers.claimed.entries[i], level, found) : queue_row{0, 0};
        further += further_parts(buffers, rows[k]);
    }
    if (__any_sync(ALL_LANES, further > 0))
        slot = reserve_together(further, [&](unsigned total) { return atomicAdd(&buffers.further.parts, total); });
    buffers.found.add(found);
    __syncthreads();
    const unsigned all_further = buffers.further.parts;
    part *const queue = search.queue(step);
    // benign race: if another thread sets `passed` now, no step reads the entries that are written here
    if (!buffers.limit.passed)
        for (int k = 0; k < count; ++k) {
            const unsigned i = first + k * blockDim.x + threadIdx.x;
            if (i < size) queue[buffers.place + i] = rows[k].nth(0);
        }
    if (threadIdx.x == 0 && all_further > 0) buffers.further_place = next.barrier.reserve(all_further);
    if (threadIdx.x == blockDim.x - 32 && buffers.limit.count_all(buffers.found.sum.edges, next))
        buffers.limit.look_again(next);
    if (all_further == 0) return;
    __syncthreads();
    if (buffers.limit.passed) return;
    slot += buffers.further_place;
    for (int k = 0; k < count; ++k) {
        const queue_row rest = {rows[k].origin() + PART, rows[k].end};
        const unsigned parts = max(rows[k].parts(), 1u) - 1;
        write_parts(queue, slot, rest, parts);
        slot += parts;
    }
    buffers.further.template write<queue_row>(queue + buffers.further_place);
}

// Runs the second phase of a pushed level: stores the levels of the vertices on the block's list, queues their rows
// for step `step`, and stores the block's counts in `result`. `level` is the level of these vertices. All blocks must
// call this function after push_level or list_frontier. If blocks have stopped queueing, a QUEUE step calls it again
// for the same lists. Every row has at least one queue entry, which may be empty. So the function reserves places for
// the first entries before it knows the offsets. With `only_lists`, the vertices have their levels already, and the
// function only counts them.
//
// A block has stopped queueing if `limit.passed` is set, or if the step is LIST. The table says where blocks find the
// whole frontier after the step. This depends on two facts: the list of any block is full, and any block has stopped.
//
//   any list full  | any block stopped   | the frontier is in | next step
//   no             | no                  | the queue          | PULL, PUSH, LIST or RUN_LEVELS
//   yes            | no                  | the queue          | PULL, PUSH, LIST or RUN_LEVELS
//   no             | yes                 | the lists          | PULL or QUEUE
//   yes            | yes                 | the bitmap alone   | PULL, see frontier::must_pull
__device__ __forceinline__ void queue_claimed(const bfs &search, push_buffers &buffers, int step, int level,
                                              bool only_lists, step_result &result) {
    next_frontier &next = search.state->frontiers[step];
    const bool last = threadIdx.x == blockDim.x - 32;  // in the last warp, which has the fewest vertices
    __syncthreads();
    const unsigned size = buffers.claimed.listed();
    unsigned place = 0;
    if (last && size > 0 && !buffers.limit.passed && !only_lists) place = next.barrier.reserve(size);
    if (last) buffers.place = place;
    if (only_lists) {
        if (last) buffers.found.sum.vertices += size;
    } else if (size <= blockDim.x)
        queue_some<1>(search, buffers, next, 0, size, step, level);
    else
        for (unsigned first = 0; first < size; first += 4 * blockDim.x) {
            if (first > 0) {
                __syncthreads();
                if (threadIdx.x == 0) buffers.further.reset();
                __syncthreads();
            }
            queue_some<4>(search, buffers, next, first, size, step, level);
        }
    if (!last) return;
    const bool all_fit = buffers.claimed.all_fit(), stopped = buffers.limit.passed || only_lists;
    // `unlisted` tells all blocks that the list of this block was too short for all its claimed vertices. If
    // any block has also stopped queueing, after_step() sets must_pull.
    if (!all_fit) store_relaxed(&next.unlisted, 1);
    result = {buffers.found, !all_fit, stopped && buffers.found.sum.vertices > 0};
}

// Claims vertices, and appends the vertices that this lane wins to the block's list. On return, mine[k] says
// whether this lane has won v[k]. With `only_lists`, the winning lane also stores the level of its vertex.
template <int count>
__device__ __forceinline__ void claim_and_list(const bfs &search, unsigned *visited, push_buffers &buffers,
                                               bool (&mine)[count], const int (&v)[count], int step, int level,
                                               bool only_lists) {
    claim(visited, mine, v);
    for (int k = 0; k < count; ++k)
        if (only_lists && mine[k]) search.answer.level(v[k], level);
    list_claimed(search, buffers, mine, v, step, level);
}

// Claims the vertices to which the arcs in `arcs` lead, from arc number `first` on. Each
// lane expands `count` arcs. If a warp has many arcs, most of them lead to reached vertices.
// So if at most 32 unreached vertices remain, each lane claims one of these. With TREE each
// vertex stays in its lane, because only this lane knows the arc, and thus the parent.
template <int count>
__device__ __forceinline__ void claim_arcs(const bfs &search, unsigned *visited, push_buffers &buffers,
                                           asked_here &asked, const arc_run &arcs, unsigned first, int step, int level,
                                           bool only_lists) {
    edge_t arc[count];
    int v[count];
    bool mine[count];
    unsigned words[count];
    for (int k = 0; k < count; ++k) {
        const unsigned n = first + k * 32 + threadIdx.x % 32;
        arc[k] = arcs.nth(min(n, arcs.total - 1));
        const int entry = __ldg(&search.column_indices[arc[k]]);
        mine[k] = n < arcs.total && is_arc(entry);
        v[k] = neighbour_of(entry);
    }
    for (int k = 0; k < count; ++k) words[k] = look(&visited[v[k] / 32u]);
    for (int k = 0; k < count; ++k) {
        mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
        if (mine[k] && !only_lists) prefetch(&search.row_offsets[v[k]]);
    }
    if (!TREE && count == ARCS) {
        const unsigned left = buffers.few[threadIdx.x / 32].fill(mine, v);
        if (left == 0) return;
        if (left <= 32) {
            bool its[1] = {threadIdx.x % 32 < left};
            const int one[1] = {buffers.few[threadIdx.x / 32].take(its[0])};
            asked.keep_others(its, one);
            return claim_and_list(search, visited, buffers, its, one, step, level, only_lists);
        }
    }
    if (count == ARCS) asked.keep_others(mine, v);
    claim_and_list(search, visited, buffers, mine, v, step, level, only_lists);
    for (int k = 0; k < count; ++k)
        if (TREE && mine[k]) search.answer.parent(v[k], search.answer.tail(arc[k]));
}

// Runs the first phase of a pushed level: expands the queue entries. All blocks must call this function.
// Consecutive warp numbers belong to different blocks, so that even a short queue occupies all blocks.
// Each warp takes neighbouring entries, because their vertices are mostly neighbours. If the queue holds
// hubs (`mixed`), the warps take single entries in turn, so that no warp gets all entries of a hub.
__device__ __forceinline__ void push_level(const bfs &search, unsigned *visited, push_buffers &buffers,
                                           asked_here &asked, int step, int level, unsigned queued, bool mixed,
                                           bool only_lists) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const unsigned warps = grid_threads() / 32, run = min((queued + warps - 1) / warps, 32u);
    const part *const queue = search.queue(step);
    for (unsigned first = mixed ? warp : warp * run; first < queued; first += warps * run) {
        const unsigned nth = first + lane * (mixed ? warps : 1);
        const arc_run arcs(lane < run && nth < queued ? queue[nth] : part{0, 0});
        if (arcs.total == 0) continue;
        if (arcs.total <= 32)
            claim_arcs<1>(search, visited, buffers, asked, arcs, 0, step + 1, level + 1, only_lists);
        else if (arcs.total <= 64)
            claim_arcs<2>(search, visited, buffers, asked, arcs, 0, step + 1, level + 1, only_lists);
        else
            for (unsigned n = 0; n < arcs.total; n += ARCS * 32)
                claim_arcs<ARCS>(search, visited, buffers, asked, arcs, n, step + 1, level + 1, only_lists);
    }
}

// Appends the frontier of a pulled level to the blocks' lists. The vertices of this frontier are in
// `visited`, but not in `visited_before`. All blocks must call this function.
__device__ __noinline__ void list_frontier(const bfs &search, const unsigned *visited,
                                            const unsigned *visited_before, push_buffers &buffers, int step,
                                            int level) {
    const auto fresh = [&](const unsigned &w, bool there) { return there ? visited[w] & ~visited_before[w] : 0; };
    visit_bitmap(search.words(), fresh, [&](bool set, int vertex) {
        const bool mine[1] = {set};
        const int v[1] = {vertex};
        list_claimed(search, buffers, mine, v, step + 1, level);
    });
}
