// The regime of middling frontiers: all blocks expand the parts in the queue, a thread for each arc.
//
// A level is two phases, so that each access of the chain (part, arc, look, claim, offsets, place) is made once, by all
// threads together. First every warp takes a run of parts, lays their arcs side by side, claims what they lead to and
// puts it on the block's list. Then the block goes through the list, a thread for each vertex: offsets, level, parts
// for the next step, with places in the queue reserved by one atomic, and one more a round if rows have several parts.
// A warp that finds no room on the list queues by itself. Once enough is found for the next level to be pulled, nothing
// more is queued; a level expected to find that much only lists. If the next one is pushed after all, lists are queued.
//
// A claim is an atomic or on the bitmap, so a vertex has one discoverer. A look before spares most atomics: if it is
// outdated it finds a bit unset, and the claim decides.
#pragma once

#include "asked_lately.cuh"
#include "block_list.cuh"
#include "search.cuh"

constexpr int CLAIMED = 8192;  // vertices on the list of a block
constexpr int ARCS = 4;  // of a thread at a time, where a warp has many
typedef asked_lately<WIDE_OFFSETS ? 128 : 512> asked_here;
constexpr unsigned FEW_PARTS_OF_LANE = 4;  // of a row that its lane writes by itself
constexpr unsigned LONG_RESTS = 256;  // longer rows of a block that are written by all its warps

struct push_buffers {
    block_list<CLAIMED> claimed;
    unsigned place;          // in the queue: the list's rows have their first parts there, in its order
    unsigned further_place;  // of further ones
    rows_aside<LONG_RESTS> further;  // long rows of a round, without first parts; `parts` are those of all its rows
    edge_limit<next_frontier> limit;
    block_tally found;
    warp_list few[MAX_WARPS];  // of what a warp looked at, the vertices that are still to be claimed
};

// Make a block's buffers ready for a step: for its first thread, before a barrier of the block.
__device__ __forceinline__ void clear(push_buffers &buffers, const edge_share &share, bool keeps_list) {
    if (!keeps_list) buffers.claimed.reset();
    buffers.further.reset();
    buffers.limit.reset(share);
    buffers.found.reset();
}

// Give a vertex that has been claimed its level; with TREE it has its parent since the claim. Returns its row.
__device__ __forceinline__ queue_row reach_claimed(const bfs &search, int v, int level, tally &found) {
    const queue_row row = search.row_of(v);
    search.answer.level(v, level);
    found.count(row.end - row.begin);
    return row;
}

// Reach and queue what a warp has claimed and found no room for on the list.
__device__ __noinline__ void reach_directly(const bfs &search, push_buffers &buffers, bool mine, int v, int step,
                                            int level) {
    tally found = {0, 0};
    const queue_row row = mine ? reach_claimed(search, v, level, found) : queue_row{0, 0};
    buffers.found.add(found);
    if (!buffers.limit.count(row.end - row.begin, search.state->frontiers[step]))
        append_rows(search, row, mine ? row.parts() : 0, step);
}

// Put what a warp has claimed on the block's list: each lane some of its vertices.
template <int count>
__device__ __forceinline__ void list_claimed(const bfs &search, push_buffers &buffers, const bool (&mine)[count],
                                             const int (&v)[count], int step, int level) {
    if (buffers.claimed.append(mine, v)) return;
    for (int k = 0; k < count; ++k) reach_directly(search, buffers, mine[k], v[k], step, level);
}

// Set a lane's row aside, but for its first part, if it is long and there is room. Returns how many more it has to do.
__device__ __forceinline__ unsigned further_parts(push_buffers &buffers, queue_row &row) {
    const unsigned further = max(row.parts(), 1u) - 1;
    if (further <= FEW_PARTS_OF_LANE) return further;
    const edge_t rest = row.origin() + PART;
    if (WIDE_OFFSETS && row.end - rest > 0x7fffffffu) return further;  // more arcs than a part can have
    const unsigned place = atomicAdd(&buffers.further.count, 1u);
    if (place >= LONG_RESTS) return further;
    buffers.further.keep(place, rest, row.end - rest, atomicAdd(&buffers.further.parts, further));
    row.end = rest;
    return 0;
}

// Reach vertices of the block's list, from the first one on, a fixed number a thread, and queue their rows for a step:
// the first part of each at the place that is the vertex's own, further ones where there is room.
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
    // benign race: one thread may set `passed` meanwhile; what others still write here is then not read
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

// Reach the vertices on the block's list, which are of this level, and queue their rows for this step; leave what the
// block has found. For all blocks, after push_level or list_frontier or a step later. First parts get their places
// before rows are known: the answer is awaited with the offsets. What is only listed has been reached, and is counted.
__device__ __forceinline__ void queue_claimed(const bfs &search, push_buffers &buffers, int step, int level,
                                              bool only_lists, step_result &result) {
    next_frontier &next = search.state->frontiers[step];
    const bool last = threadIdx.x == blockDim.x - 32;  // of a warp that has the fewest vertices of the list
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
    if (!all_fit) store_relaxed(&next.unlisted, 1);  // matters if any block has stopped queueing, not only this one
    result = {buffers.found, !all_fit, stopped && buffers.found.sum.vertices > 0};
}

// Claim vertices, each lane some, and list those left in `mine`. If they are only listed, they get their level here.
template <int count>
__device__ __forceinline__ void claim_and_list(const bfs &search, unsigned *visited, push_buffers &buffers,
                                               bool (&mine)[count], const int (&v)[count], int step, int level,
                                               bool only_lists) {
    claim(visited, mine, v);
    for (int k = 0; k < count; ++k)
        if (only_lists && mine[k]) search.answer.level(v[k], level);
    list_claimed(search, buffers, mine, v, step, level);
}

// Claim what some arcs of a run lead to: a fixed number a lane, from the first one on. Where a warp has many arcs, most
// lead to vertices that have been reached: what is left is dealt out anew, if at most one to each lane; not with TREE.
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

// Expand a level: for all blocks. Warps take turns by blocks, to spread few parts over the device too, each by a run of
// parts, of neighbouring vertices; if they are `mixed`, of short rows and of hubs, they are dealt out one by one.
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

// List a frontier that pulling has found: its vertices are set in one bitmap and not in the one before.
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
