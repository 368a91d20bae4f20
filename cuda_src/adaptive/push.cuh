// The regime of middling frontiers: all blocks expand the parts in the queue, a thread for each arc.
//
// A level is two phases, so that each access of the chain (part, arc, look, claim, offsets, place) is made once, by all
// threads together. First every warp takes a run of parts, lays their arcs side by side, claims what they lead to and
// puts it on the block's list. Then the block goes through the list, a thread for each vertex: offsets, level, and
// parts for the next step, for which the block reserves places in the queue with one atomic. A warp that finds no room
// on the list queues by itself. Once so much is found that the next level will be pulled, nothing more is queued.
//
// A claim is an atomic or on the bitmap, so a vertex has one discoverer. Bits are looked at before, which spares most
// atomics; a look that is outdated finds a bit unset, and the claim decides.
#pragma once

#include "search.cuh"

constexpr int CLAIMED = 8192;  // vertices on the list of a block
constexpr int ARCS = 4;  // of a thread at a time

struct push_buffers {
    int claimed[CLAIMED];
    unsigned size;   // reserved so far, be it here or elsewhere
    unsigned end;    // what is reserved from here on went elsewhere
    unsigned parts;  // of the vertices at hand
    unsigned place;  // of these in the queue
    edge_limit<frontier> limit;
    block_tally found;
};

// Make a block's buffers ready for a step: for its first thread, before a barrier of the block.
__device__ __forceinline__ void clear(push_buffers &buffers, const edge_share &share) {
    buffers.size = buffers.parts = buffers.place = 0;
    buffers.end = CLAIMED;
    buffers.limit.reset(share);
    buffers.found.reset();
}

// Give a vertex that has been claimed its level; it has its parent since the claim. Returns its row.
__device__ __forceinline__ queue_row reach_claimed(const bfs &search, int v, int level, tally &found) {
    const queue_row row = search.row_of(v);
    search.answer.level(v, level + 1);
    found.count(row.end - row.begin);
    return row;
}

// Reach and queue what a warp has claimed and found no room for.
__device__ __noinline__ void reach_directly(const bfs &search, push_buffers &buffers, bool mine, int v, int step,
                                            int level) {
    tally found = {0, 0};
    queue_row row = {0, 0};
    if (mine) row = reach_claimed(search, v, level, found);
    buffers.found.add(found);
    if (!buffers.limit.count(row.end - row.begin, search.state->frontiers[step]))
        append_rows(search, row, mine ? row.parts() : 0, step);
}

// Put what a warp has claimed on the block's list: each lane some of its vertices.
template <int count>
__device__ __forceinline__ void list_claimed(const bfs &search, push_buffers &buffers, const bool (&mine)[count],
                                             const int (&v)[count], int step, int level) {
    unsigned lanes[count], total = 0, at = 0;
#pragma unroll
    for (int k = 0; k < count; ++k) total += __popc(lanes[k] = __ballot_sync(ALL_LANES, mine[k]));
    if (total == 0) return;
    if (threadIdx.x % 32 == 0) at = atomicAdd(&buffers.size, total);
    at = __shfl_sync(ALL_LANES, at, 0);
    if (at + total > CLAIMED) {
        if (threadIdx.x % 32 == 0) atomicMin(&buffers.end, at);
#pragma unroll
        for (int k = 0; k < count; ++k) reach_directly(search, buffers, mine[k], v[k], step, level);
        return;
    }
#pragma unroll
    for (int k = 0; k < count; ++k) {
        if (mine[k]) buffers.claimed[at + __popc(lanes[k] & (1u << threadIdx.x % 32) - 1)] = v[k];
        at += __popc(lanes[k]);
    }
}

// Reach vertices of the block's list, from the first one on, a fixed number a thread, and queue their rows for a step.
template <int count>
__device__ __forceinline__ void queue_some(const bfs &search, push_buffers &buffers, frontier &next, unsigned first,
                                           unsigned size, int step, int level) {
    queue_row rows[count];
    unsigned parts = 0, total, slot = 0;
    tally found = {0, 0};
#pragma unroll
    for (int k = 0; k < count; ++k) {
        const unsigned i = first + k * blockDim.x + threadIdx.x;
        rows[k] = {0, 0};
        if (i < size) rows[k] = reach_claimed(search, buffers.claimed[i], level, found);
        parts += rows[k].parts();
    }
    const unsigned before = sum_before(parts, total);
    if (threadIdx.x % 32 == 0 && total > 0) slot = atomicAdd(&buffers.parts, total);
    buffers.found.add(found);
    slot = __shfl_sync(ALL_LANES, slot, 0) + before;
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool told = buffers.limit.count_all(buffers.found.sum.edges, next);
        if (buffers.parts > 0 && !buffers.limit.passed) buffers.place = atomicAdd(&next.queued, buffers.parts);
        if (told) buffers.limit.look_again(next);  // blocks come to this at about the same time
    }
    __syncthreads();
    if (buffers.limit.passed) return;
    slot += buffers.place;
#pragma unroll
    for (int k = 0; k < count; ++k) {
        write_parts(search.queue(step), slot, rows[k], rows[k].parts());
        slot += rows[k].parts();
    }
}

// Reach the vertices on the block's list and queue their rows for a step; then add all that the block has found to that
// step's frontier. For all blocks, after push_level or list_frontier.
__device__ __forceinline__ void queue_claimed(const bfs &search, push_buffers &buffers, int step, int level) {
    frontier &next = search.state->frontiers[step];
    __syncthreads();
    const unsigned size = min(buffers.size, buffers.end);
    if (size <= blockDim.x)
        queue_some<1>(search, buffers, next, 0, size, step, level);
    else
#pragma unroll 1
        for (unsigned first = 0; first < size; first += 4 * blockDim.x) {
            if (first > 0) {
                __syncthreads();
                if (threadIdx.x == 0) buffers.parts = 0;
                __syncthreads();
            }
            queue_some<4>(search, buffers, next, first, size, step, level);
        }
    if (threadIdx.x == 0) {
        if (buffers.limit.passed) store_relaxed(&next.must_pull, 1);
        buffers.found.publish(&next.found);
    }
}

// Claim what some arcs of a run lead to: a fixed number a lane, from the first one on.
template <int count>
__device__ __forceinline__ void claim_arcs(const bfs &search, unsigned *visited, push_buffers &buffers,
                                           const arc_run &arcs, unsigned first, int step, int level) {
    edge_t arc[count];
    int v[count];
    bool mine[count], together = false;
    unsigned words[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
        const unsigned n = first + k * 32 + threadIdx.x % 32;
        mine[k] = n < arcs.total;
        arc[k] = arcs.nth(min(n, arcs.total - 1));
        v[k] = __ldg(&search.column_indices[arc[k]]);
    }
#pragma unroll
    for (int k = 0; k < count; ++k) words[k] = look(&visited[v[k] / 32u]);
#pragma unroll
    for (int k = 0; k < count; ++k) {
        mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
        if (mine[k]) prefetch(&search.row_offsets[v[k]]);
        together |= same_word_as_before(mine[k], v[k]);
    }
    if (__any_sync(ALL_LANES, together)) {
        joint_claim claims[count];
#pragma unroll
        for (int k = 0; k < count; ++k) claims[k].ask(visited, mine[k], v[k]);
#pragma unroll
        for (int k = 0; k < count; ++k) mine[k] = claims[k].won(mine[k], v[k]);
    } else {
#pragma unroll
        for (int k = 0; k < count; ++k) words[k] = set_bits(mine[k], &visited[v[k] / 32u], 1u << v[k] % 32);
#pragma unroll
        for (int k = 0; k < count; ++k) mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
    }
#pragma unroll
    for (int k = 0; k < count; ++k)
        if (TREE && mine[k]) search.answer.parent(v[k], search.answer.tail(arc[k]));
    list_claimed(search, buffers, mine, v, step, level);
}

// Expand a level: for all blocks. Warps take turns by blocks, so that few parts, too, are spread over the device.
__device__ __forceinline__ void push_level(const bfs &search, unsigned *visited, push_buffers &buffers, int step,
                                           int level, unsigned queued) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const unsigned warps = grid_threads() / 32, run = min((queued + warps - 1) / warps, 32u);
    const part *const queue = search.queue(step);
#pragma unroll 1
    for (unsigned first = warp * run; first < queued; first += warps * run) {
        const arc_run arcs(lane < run && first + lane < queued ? queue[first + lane] : part{0, 0});
        if (arcs.total == 0) continue;
        if (arcs.total <= 32)
            claim_arcs<1>(search, visited, buffers, arcs, 0, step + 1, level);
        else
#pragma unroll 1
            for (unsigned n = 0; n < arcs.total; n += ARCS * 32)
                claim_arcs<ARCS>(search, visited, buffers, arcs, n, step + 1, level);
    }
}

// List a frontier that pulling has found: its vertices are set in one bitmap and not in the one before.
__device__ __noinline__ void list_frontier(const bfs &search, const unsigned *visited,
                                            const unsigned *visited_before, push_buffers &buffers, int step,
                                            int level) {
    const unsigned lane = threadIdx.x % 32, words = search.words(), few = words_at_a_time(words);
#pragma unroll 1
    for (unsigned first = global_thread() / 32 * few; first < words; first += grid_threads() / 32 * few) {
        const unsigned w = first + lane;
        const unsigned fresh = w < words && lane < few ? visited[w] & ~visited_before[w] : 0;
#pragma unroll 1
        for (unsigned lanes = __ballot_sync(ALL_LANES, fresh != 0); lanes; lanes &= lanes - 1) {
            const unsigned other = __ffs(lanes) - 1, its = __shfl_sync(ALL_LANES, fresh, other);
            const bool mine[1] = {(its >> lane & 1) != 0};
            const int v[1] = {(int)((first + other) * 32 + lane)};
            list_claimed(search, buffers, mine, v, step + 1, level - 1);
        }
    }
}
