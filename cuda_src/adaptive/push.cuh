// The regime of middling frontiers: all blocks expand the parts in the queue, one thread per arc.
//
// A level is a chain of accesses: part, arc, look, claim, offsets, place in the queue. A level has two phases,
// so that all threads make each of these accesses at about the same time. First each warp takes a run of parts,
// and lays their arcs side by side. The warp claims the vertices to which the arcs lead, and appends these
// vertices to the list of its block. Then the block goes through the list, one thread per vertex: it reads the
// offsets, stores the level, and writes parts for the next step. One atomic of the block reserves the places
// for the first parts of rows. One more atomic per round reserves the places for further parts.
//
// If the list is full, a warp stores levels and queues parts by itself. Once all blocks together have found so many
// edges that the next level is pulled, nothing more is queued. A LIST step is expected to find that many edges,
// so it only fills the lists. If the next level is pushed after all, a QUEUE step queues the lists.
//
// A claim is an atomic or on the bitmap, so each vertex has one claimer. A look before the claim avoids most
// atomics. A look may read an old word and miss a bit. Then the claim decides.
#pragma once

#include "asked_lately.cuh"
#include "block_list.cuh"
#include "search.cuh"

constexpr int CLAIMED = 8192;  // capacity of a block's list
constexpr int ARCS = 4;  // arcs per thread at a time, if the warp has more than 64
typedef asked_lately<WIDE_OFFSETS ? 128 : 512> asked_here;
constexpr unsigned FEW_PARTS_OF_LANE = 4;  // the most further parts of a row that its lane writes itself
constexpr unsigned LONG_RESTS = 256;  // capacity of the list of longer rows, whose parts all warps of the block write

struct push_buffers {
    block_list<CLAIMED> claimed;
    unsigned place;          // where in the queue the first parts of the listed rows begin, in the order of the list
    unsigned further_place;  // where the further parts of this round begin
    // Long rows of a round, without their first parts; `parts` counts further parts of all rows.
    rows_aside<LONG_RESTS> further;
    edge_limit<next_frontier> limit;
    block_tally found;
    warp_list few[MAX_WARPS];  // vertices that a warp must claim after its looks
};

// Prepare a block's buffers for a step. The first thread of the block calls it, before a barrier of the block.
// `keeps_list` is true if QUEUE reads the list of the step before.
__device__ __forceinline__ void clear(push_buffers &buffers, const edge_share &share, bool keeps_list) {
    if (!keeps_list) buffers.claimed.reset();
    buffers.further.reset();
    buffers.limit.reset(share);
    buffers.found.reset();
}

// Store the level of a claimed vertex, and count the vertex. Returns the vertex's row. With TREE, claim_arcs
// has stored the parent.
__device__ __forceinline__ queue_row reach_claimed(const bfs &search, int v, int level, tally &found) {
    const queue_row row = search.row_of(v);
    search.answer.level(v, level);
    found.count(row.end - row.begin);
    return row;
}

// Store levels of claimed vertices for which the block's list has no room, and queue their rows. Each lane
// brings at most one vertex. All lanes of a warp must call it.
__device__ __noinline__ void reach_directly(const bfs &search, push_buffers &buffers, bool mine, int v, int step,
                                            int level) {
    tally found = {0, 0};
    const queue_row row = mine ? reach_claimed(search, v, level, found) : queue_row{0, 0};
    buffers.found.add(found);
    if (!buffers.limit.count(row.end - row.begin, search.state->frontiers[step]))
        append_rows(search, row, mine ? row.parts() : 0, step);
}

// Append claimed vertices to the block's list. If the list is full, store their levels and queue their rows
// directly. All lanes of a warp must call it.
template <int count>
__device__ __forceinline__ void list_claimed(const bfs &search, push_buffers &buffers, const bool (&mine)[count],
                                             const int (&v)[count], int step, int level) {
    if (buffers.claimed.append(mine, v)) return;
    for (int k = 0; k < count; ++k) reach_directly(search, buffers, mine[k], v[k], step, level);
}

// Set a long row aside, without its first part, if the list of long rows has room. Returns the number of
// further parts that this lane's warp must write itself: 0 if the row was set aside.
__device__ __forceinline__ unsigned further_parts(push_buffers &buffers, queue_row &row) {
    const unsigned further = max(row.parts(), 1u) - 1;
    if (further <= FEW_PARTS_OF_LANE) return further;
    const edge_t rest = row.origin() + PART;
    if (WIDE_OFFSETS && row.end - rest > 0x7fffffffu) return further;  // too long for part::length
    const unsigned place = atomicAdd(&buffers.further.count, 1u);
    if (place >= LONG_RESTS) return further;
    buffers.further.keep(place, rest, row.end - rest, atomicAdd(&buffers.further.parts, further));
    row.end = rest;
    return 0;
}

// Store levels of vertices of the block's list, and queue their rows. Takes `count` vertices per thread, from
// the `first`-th entry on. First parts have the places buffers.place + i, where i is the index on the list.
// This function reserves the places of further parts.
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
    // benign race: a thread may set `passed` meanwhile; then the next step does not read the parts written here
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

// The second phase: store levels of the listed vertices, queue their rows for `step`, and set `result`. `level`
// is the level of the listed vertices. All blocks must call it, after push_level or list_frontier, or one step
// later in QUEUE. Places of first parts are reserved before the offsets are known, so that both accesses are in
// flight together. With `only_lists`, the vertices have their levels already, and are only counted.
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
    // If any block has stopped queueing, this becomes frontier::must_pull.
    if (!all_fit) store_relaxed(&next.unlisted, 1);
    result = {buffers.found, !all_fit, stopped && buffers.found.sum.vertices > 0};
}

// Claim vertices, and append the vertices that this lane wins to the block's list. On return, `mine` says which
// vertices this lane has won. With `only_lists` the winning lane also stores the level.
template <int count>
__device__ __forceinline__ void claim_and_list(const bfs &search, unsigned *visited, push_buffers &buffers,
                                               bool (&mine)[count], const int (&v)[count], int step, int level,
                                               bool only_lists) {
    claim(visited, mine, v);
    for (int k = 0; k < count; ++k)
        if (only_lists && mine[k]) search.answer.level(v[k], level);
    list_claimed(search, buffers, mine, v, step, level);
}

// Claim the vertices to which arcs of a run lead: `count` arcs per lane, from the `first`-th arc on. If a warp
// has many arcs, most of them lead to reached vertices. So if at most 32 vertices are left after the looks,
// each goes to one lane. With TREE the vertices stay in their lanes, because a vertex that changes lanes would
// lose its arc and so its parent.
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

// The first phase: expand the parts in the queue. All blocks must call it. Warps are numbered across blocks, so that
// few parts still use all blocks. Each warp takes a run of parts, whose vertices are mostly neighbours. If
// parts are `mixed`, warps take single parts in turn, so that no warp gets all parts of a hub.
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

// Append to the lists a frontier that a pulled level has found. Its vertices are in `visited`, but not in
// `visited_before`. All blocks must call it.
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
