// The regime of middling frontiers: all blocks expand the parts in the queue, a thread for each window of arcs.
//
// Few arcs of such a level lead to a new vertex. A warp collects the vertices that it claims until it has one for each
// lane; only then are their offsets read and their rows queued. Parts are collected in turn in shared memory and go to
// the queue of the next step with one atomic a block. A warp that finds no room there reserves its places in the queue
// itself. Once the block has found so many edges that the next level will be pulled, nothing more is queued.
//
// Races. A claim is an atomic or on the bitmap, so a vertex has one discoverer. Bits are looked at before they are
// claimed, which spares most atomics; what is seen may be outdated, as caches of multiprocessors are not coherent, but
// then the bit looks unset, and the claim decides.
#pragma once

#include "search.cuh"

#define CLAIMED 64                        // vertices that a warp collects at most
#define PUSH_PARTS (2048 >> WIDE_OFFSETS)  // parts that a block collects

struct push_buffers {
    int claimed[MAX_WARPS][CLAIMED];
    part parts[PUSH_PARTS];
    unsigned size;   // reserved so far, be it here or elsewhere
    unsigned end;    // what is reserved from here on went elsewhere
    unsigned place;  // in the queue
    queue_limit limit;
    block_tally found;
};

// Queue rows for a step, by way of the block's buffer: each lane one or none. For whole warps.
__device__ __forceinline__ void queue_rows(const search &search, push_buffers &buffers, const row &row, unsigned parts,
                                           int step) {
    unsigned total, slot = 0;
    const unsigned before = sum_before(parts, total);
    bool elsewhere = false;
    if (threadIdx.x % 32 == 0 && total > 0) {
        slot = atomicAdd(&buffers.size, total);
        elsewhere = slot + total > PUSH_PARTS;
        if (elsewhere) {
            atomicMin(&buffers.end, slot);
            slot = atomicAdd(&search.state->frontiers[step % 3].queued, total);
        }
    }
    elsewhere = __shfl_sync(ALL_LANES, elsewhere, 0);
    slot = __shfl_sync(ALL_LANES, slot, 0);
    write_parts(elsewhere ? search.queues[step % 2] : buffers.parts, slot + before, row, parts);
}

// Let the first `count` lanes reach a vertex each, which the warp has claimed.
__device__ __noinline__ void reach_claimed(const search &search, push_buffers &buffers, unsigned count, int step,
                                           int level) {
    const bool mine = threadIdx.x % 32 < count;
    row row = {0, 0};
    if (mine) {
        const int v = buffers.claimed[threadIdx.x / 32][threadIdx.x % 32];
        row = search.row_of(v);
        search.levels[v] = level + 1;
    }
    buffers.found.add({row.end - row.begin, mine});
    if (buffers.limit.count(row.end - row.begin)) return;
    queue_rows(search, buffers, row, mine ? row.parts() : 0, step);
}

// Claim what is unreached among the vertices of a window: those of `columns` with a bit in the result.
__device__ __forceinline__ unsigned claim_window(const search &search, unsigned *visited, const part &window,
                                                 int (&columns)[WINDOW]) {
    unsigned mine = load_window(search.column_indices, search.column_indices_end, window, columns), words[WINDOW];
#pragma unroll
    for (int k = 0; k < WINDOW; ++k) words[k] = mine >> k & 1 ? __ldcg(&visited[columns[k] >> 5]) : ALL_LANES;
#pragma unroll
    for (int k = 0; k < WINDOW; ++k)
        if (words[k] >> (columns[k] & 31) & 1) mine &= ~(1u << k);
#pragma unroll
    for (int k = 0; k < WINDOW; ++k)
        words[k] = mine >> k & 1 ? atomicOr(&visited[columns[k] >> 5], 1u << (columns[k] & 31)) : ALL_LANES;
#pragma unroll
    for (int k = 0; k < WINDOW; ++k)
        if (words[k] >> (columns[k] & 31) & 1) mine &= ~(1u << k);
    return mine;
}

// Put a lane's vertex on the warp's list of claimed ones, and reach them when there are enough.
__device__ __forceinline__ void collect(const search &search, push_buffers &buffers, bool mine, int v, unsigned &count,
                                        int step, int level) {
    const unsigned lane = threadIdx.x % 32, lanes = __ballot_sync(ALL_LANES, mine);
    if (lanes == 0) return;
    int *const claimed = buffers.claimed[threadIdx.x / 32];
    if (mine) claimed[count + __popc(lanes & (1u << lane) - 1)] = v;
    count += __popc(lanes);
    __syncwarp();
    if (count < 32) return;
    reach_claimed(search, buffers, 32, step, level);
    count -= 32;
    const int rest = lane < count ? claimed[32 + lane] : 0;
    __syncwarp();
    if (lane < count) claimed[lane] = rest;
    __syncwarp();
}

__device__ __forceinline__ void clear(push_buffers &buffers, unsigned most_edges) {
    if (threadIdx.x == 0) {
        buffers.size = 0;
        buffers.end = PUSH_PARTS;
        buffers.limit.reset(most_edges);
        buffers.found.reset();
    }
    __syncthreads();
}

// Move what the block has collected to the queue of a step, and add what it has found to that step's frontier.
__device__ __noinline__ void finish(const search &search, push_buffers &buffers, int step) {
    frontier &next = search.state->frontiers[step % 3];
    __syncthreads();
    const unsigned parts = min(buffers.size, buffers.end);
    if (threadIdx.x == 0) {
        if (parts > 0) buffers.place = atomicAdd(&next.queued, parts);
        if (buffers.limit.passed) next.must_pull = 1;
        buffers.found.publish(&next.found);
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < parts; i += blockDim.x)
        search.queues[step % 2][buffers.place + i] = buffers.parts[i];
}

// Expand a level: for all blocks. Warps take turns by blocks, so that few parts, too, are spread over the device; if
// they are so few that not all threads would have a window, each thread takes a single arc.
__device__ __forceinline__ void push_level(const search &search, unsigned *visited, push_buffers &buffers, int step,
                                           int level, unsigned queued, unsigned most_edges) {
    clear(buffers, most_edges);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const part *const queue = search.queues[step % 2];
    unsigned count = 0;  // claimed and not yet reached
    if (queued <= grid_threads() / PART_LANES) {
#pragma unroll 1
        for (unsigned i = warp; i < queued; i += grid_threads() / 32) {
            bool mine = lane < queue[i].length;
            int v = 0;
            if (mine) {
                v = __ldg(&search.column_indices[queue[i].begin + lane]);
                const unsigned bit = 1u << v % 32;
                mine = !(__ldcg(&visited[v / 32]) & bit) && !(atomicOr(&visited[v / 32], bit) & bit);
            }
            collect(search, buffers, mine, v, count, step + 1, level);
        }
    } else {
        const unsigned long long windows = (unsigned long long)queued * PART_LANES;
        for (unsigned long long i = warp * 32ull; i < windows; i += grid_threads()) {
            const part from = i + lane < windows ? queue[(i + lane) / PART_LANES] : part{0, 0};
            const edge_t begin = from.begin;
            const part window = cut_row<WINDOW, true>{begin, begin + from.length}.nth(lane % PART_LANES);
            int columns[WINDOW];
            const unsigned mine = claim_window(search, visited, window.length > 0 ? window : part{0, 0}, columns);
#pragma unroll 1
            for (unsigned k = 0; k < WINDOW; ++k) {
                int v = columns[0];
#pragma unroll
                for (unsigned j = 1; j < WINDOW; ++j) v = j == k ? columns[j] : v;  // columns[k], out of a register
                collect(search, buffers, mine >> k & 1, v, count, step + 1, level);
            }
        }
    }
    __syncwarp();
    if (count > 0) reach_claimed(search, buffers, count, step + 1, level);
    finish(search, buffers, step + 1);
}

// Queue a frontier that pulling has found: its vertices are set in one bitmap and not in the one before.
__device__ __noinline__ void queue_frontier(const search &search, const unsigned *visited,
                                            const unsigned *visited_before, push_buffers &buffers, int step,
                                            int level) {
    clear(buffers, MOST_EDGES);
    unsigned count = 0;  // collected and not yet queued
    const unsigned lane = threadIdx.x % 32, words = search.words(), few = words_at_a_time(words);
#pragma unroll 1
    for (unsigned first = global_thread() / 32 * few; first < words; first += grid_threads() / 32 * few) {
        const unsigned w = first + lane;
        const unsigned fresh = w < words && lane < few ? visited[w] & ~visited_before[w] : 0;
#pragma unroll 1
        for (unsigned lanes = __ballot_sync(ALL_LANES, fresh != 0); lanes; lanes &= lanes - 1) {
            const unsigned other = __ffs(lanes) - 1, its = __shfl_sync(ALL_LANES, fresh, other);
            collect(search, buffers, its >> lane & 1, (first + other) * 32 + lane, count, step + 1, level - 1);
        }
    }
    __syncwarp();
    if (count > 0) reach_claimed(search, buffers, count, step + 1, level - 1);
    finish(search, buffers, step + 1);
}
