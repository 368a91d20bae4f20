// The regime of small frontiers: one thread-block cluster runs level after level, with queues in its shared memory.
//
// A level is a chain of dependent accesses. A thread reads a part of a row, reads a column index, claims the
// vertex, reads the offsets of its row, and reserves a place in a queue. Then it waits at the barrier. Parts,
// places and the barrier are in the shared memory of the cluster. Each block owns many regions of neighbouring
// ids, and queues the rows of the vertices in its regions. So the blocks get about equal numbers of parts in a
// level, and read different pages of the graph.
//
// A row is spilled if a block's queue has no place for it. The cluster then stops after the level, and writes what is
// left of the frontier to the queue in global memory. Spilled rows are mostly long, and a few warps may have
// found all of them. So each block keeps its spilled rows on a list, and all warps of the block cut these rows
// into parts when the cluster stops. If a level is likely to find far more parts than the queues hold, the
// cluster stops before this level, because spilling is slow. All blocks then expand the level.
//
// The host defines CLUSTER_PARTS, the capacity of one block's queue.
#pragma once

#include "block_cluster.cuh"
#include "search.cuh"

constexpr int SPILLED_ROWS = 512;  // capacity of a block's list of spilled rows
typedef cut_row<QUAD, OF_ROW> cluster_row;
__device__ __forceinline__ cluster_row whole_row(const bfs &, const cluster_row &row) { return row; }

#if SHORT_ROWS
#include "short_rows.cuh"
#else
typedef cluster_row found_row;
constexpr bool MAY_BE_LONG = true;  // true if a row may have more parts than one lane writes
__device__ __forceinline__ found_row row_behind(const bfs &search, int v) { return search.row_of<found_row>(v); }

// The bitmap in which the cluster claims vertices: the bitmap of reached vertices in global memory.
struct cluster_bitmap {
    const bfs &search;
    unsigned *visited;
    __device__ __forceinline__ unsigned look(int v) const { return load_relaxed(&visited[v / 32u]); }
    __device__ __forceinline__ unsigned claim(bool mine, int v) const { return set_bit(mine, visited, v); }
    __device__ __forceinline__ void load(bool) const {}
    __device__ __forceinline__ void store() const {}
};
#endif

// The modes in which a block expands its parts of a level. narrow_level: at most one arc per thread. A thread
// claims without a look, and reads offsets while the claim is in flight, even if another thread wins the
// vertex. So the chain of accesses is short. crowded_level: more arcs. A thread looks before it claims, and
// reads the offsets of claimed vertices only. So it makes fewer accesses. lone_level: the first block runs the
// level alone, and keeps the parts that it finds in its own queue. taken_level: the frontier comes from global
// memory or is the source. The block keeps its parts, except parts of long rows.
struct narrow_level { enum { ARCS = 1, LOOKS = false, KEEPS = false, ALONE = false }; };
struct crowded_level { enum { ARCS = 2, LOOKS = true, KEEPS = false, ALONE = false }; };
struct lone_level { enum { ARCS = 1, LOOKS = false, KEEPS = true, ALONE = true }; };
struct taken_level { enum { KEEPS = true, ALONE = false }; };

// The decision of the cluster before a level. GO_ON: run the level. DECIDE: leave the loop. COUNT: leave the loop and
// count the level exactly, because it is likely to find too much.
enum pause_kind { GO_ON, DECIDE, COUNT };

struct cluster_queues {
    in_turn<part[CLUSTER_PARTS], 2> parts;
    rows_aside<SPILLED_ROWS> spilled;
    in_turn<unsigned, 3> sizes;  // places requested in the queue of a level; above its capacity if rows were spilled
    in_turn<int, 2> overflow;    // true if a row of a level has been spilled by any block
    in_turn<pause_kind, 2> pause;
    unsigned total;              // number of parts of the latest level, in the whole cluster; 0 if unknown
    float growth;                // `total` divided by the previous level's total; at first the mean degree, or 1
    unsigned tiny_levels;        // number of tiny levels in a row, up to the level of `total`
    unsigned last;               // the level before which the cluster stops in any case
    // The level at which one block alone stopped, and its number of parts, or ~0u after a spill.
    unsigned stopped, left;
    unsigned place;              // where this block's parts begin in the queue in global memory
    edge_limit<next_frontier> limit;  // for spilled rows
    // Count of the rows that go to global memory; blocks outside the cluster learn only its edges.
    block_tally given;

    __device__ __forceinline__ unsigned held(unsigned level) const { return min(sizes[level], CLUSTER_PARTS); }
};

// Spill rows, at most one per lane. All lanes of a warp must call it. Appends the rows to the block's list of
// spilled rows, and sets `overflow` in the shared memory of the first `blocks` blocks. If the list is full, the
// warp writes the rows' parts to the queue in global memory itself.
__device__ __noinline__ void spill_rows(const bfs &search, cluster_queues &own, cluster_row mine, bool spill, int step,
                                        unsigned level, unsigned blocks) {
    const unsigned lane = threadIdx.x % 32, lanes = __ballot_sync(ALL_LANES, spill);
    const edge_t edges = spill ? mine.end - mine.begin : 0;
    if (lane < blocks) store_relaxed(in_block(&own.overflow[level], lane), 1);
    own.given.add({edges, spill});
    if (own.limit.count(edges, search.state->frontiers[step])) return;
    const queue_row whole = {mine.begin, mine.end};
    const unsigned parts = spill ? whole.parts() : 0;
    unsigned place = 0;
    if (lane == 0) place = atomicAdd(&own.spilled.count, __popc(lanes));
    place = __shfl_sync(ALL_LANES, place, 0);
    const bool endless = WIDE_OFFSETS && __any_sync(ALL_LANES, edges > 0x7fffffffu);  // too long for part::length
    const bool fit = place + __popc(lanes) <= SPILLED_ROWS && !endless;
    if (!fit) append_rows(search, whole, parts, step);
    const auto reserve = [&](unsigned total) { return fit ? atomicAdd(&own.spilled.parts, total) : 0; };
    const unsigned first = reserve_together(parts, reserve);
    place += __popc(lanes & (1u << lane) - 1);
    if (!spill || place >= SPILLED_ROWS) return;
    own.spilled.keep(place, fit ? mine.begin : 0, fit ? edges : 0, first);
}

// Queue long rows in the cluster, at most one per lane. All lanes of a warp must call it. The parts go to the
// queues of all blocks in turn or, if `alone`, to the queue of this block. Returns false if a queue has no
// room, and writes empty parts to the places that it has reserved. Also returns false, without reserving
// places, if `warps` times the parts of this warp exceed `most`, because the cluster would then stop anyway.
__device__ __noinline__ bool queue_long_rows(cluster_queues &own, cluster_row mine, unsigned parts, unsigned warps,
                                             unsigned most, unsigned level, bool alone) {
    const unsigned lane = threadIdx.x % 32, target = threadIdx.x / 32 + level;
    unsigned total, slot = 0, share = 0;
    const unsigned before = sum_before(parts, total);
    if (total > CLUSTER_SIZE * CLUSTER_PARTS || total * warps > most) return false;
    const unsigned blocks = alone ? 1 : CLUSTER_SIZE;
    if (lane < blocks) {  // lane r reserves places in block (target + r) % blocks
        share = (total + blocks - 1 - lane) / blocks;
        slot = atomicAdd(in_block(&own.sizes[level], (target + lane) % blocks), share);
    }
    const bool fit = __all_sync(ALL_LANES, slot + share <= CLUSTER_PARTS);
    visit_rows(parts > 0, mine, before, [&](const cluster_row &row, unsigned first) {
        const unsigned n = row.parts();
#pragma unroll 1
        for (unsigned i = lane; i - lane < n; i += 32) {
            const unsigned nth = first + i;
            const unsigned place = __shfl_sync(ALL_LANES, slot, nth % blocks) + nth / blocks;
            if (i < n && place < CLUSTER_PARTS)
                *in_block(&own.parts[level][place], (target + nth) % blocks) = fit ? row.nth(i) : part{0, 0};
        }
    });
    return fit;
}

// Queue rows for the next level: some per lane, each possibly empty. A row of at most 8 parts goes to the queue
// of the block `target`. queue_long_rows queues longer rows, and gets `warps` and `most`. A row for which a
// queue has no room is spilled. All lanes of a warp must call it.
template <class Level, class Row, int at_a_time>
__device__ __forceinline__ void queue_rows(const bfs &search, cluster_queues &own, const Row (&rows)[at_a_time],
                                           const unsigned (&target)[at_a_time], unsigned warps, unsigned most, int step,
                                           unsigned level) {
    unsigned few[at_a_time], slots[at_a_time];  // parts that a lane writes itself, and their places
    for (int k = 0; k < at_a_time; ++k) {
        few[k] = rows[k].parts() <= 8 ? rows[k].parts() : 0;
        slots[k] = Level::KEEPS ? reserve_few(own.sizes[level], few[k])
                   : few[k] > 0 ? atomicAdd(in_block(&own.sizes[level], target[k]), few[k])
                                : 0;
    }
    for (int k = 0; k < at_a_time; ++k) {
        bool spill = few[k] > 0 && slots[k] + few[k] > CLUSTER_PARTS;
#pragma unroll 1
        for (unsigned i = 0; i < few[k] && slots[k] + i < CLUSTER_PARTS; ++i) {
            part *const place = &own.parts[level][slots[k] + i];
            *(Level::KEEPS ? place : in_block(place, target[k])) = spill ? part{0, 0} : rows[k].nth(i);
        }
        const unsigned many = rows[k].parts() - few[k];
        if (MAY_BE_LONG && __any_sync(ALL_LANES, many > 0) &&
            !queue_long_rows(own, whole_row(search, rows[k]), many, warps, most, level, Level::ALONE))
            spill = spill || many > 0;
        if (__any_sync(ALL_LANES, spill))
            spill_rows(search, own, whole_row(search, rows[k]), spill, step, level, Level::ALONE ? 1 : CLUSTER_SIZE);
    }
}

// Fill the queues of the cluster: with the source's row or, if `source` is negative, with `queued` parts from global
// memory. Blocks take runs of eight parts in turn. Each block queues its parts in its own queue, which needs no
// access to another block.
__device__ __forceinline__ void take_frontier(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                              int step, unsigned level, unsigned queued, int source) {
    const unsigned most = source < 0 ? CLUSTER_SIZE * CLUSTER_PARTS : CLUSTER_PARTS;
    const auto place = [](unsigned i) { return (i / 8 * CLUSTER_SIZE + cluster_rank()) * 8 + i % 8; };
    for (unsigned i = threadIdx.x; place(i - threadIdx.x % 32) < queued; i += blockDim.x) {
        const unsigned nth = place(i);
        cluster_row row[1] = {{0, 0}};
        if (nth < queued && source < 0) {
            const part from = search.queue(step)[nth];
            row[0] = {(edge_t)from.begin, (edge_t)from.begin + from.length};
        } else if (nth < queued) {
            row[0] = search.row_of<cluster_row>(source);
            bitmap.claim(true, source);
            search.reach(source, 0, source);
        }
        queue_rows<taken_level, cluster_row>(search, own, row, {0}, 1, most, step + 1, level);
    }
}

// Write the parts in this block's queue, and the parts of its spilled rows, to the queue in global memory.
__device__ __noinline__ void give_frontier(const bfs &search, cluster_queues &own, int step, unsigned level,
                                           step_result &result) {
    next_frontier &next = search.state->frontiers[step];
    const unsigned held = own.held(level), parts = held + own.spilled.parts;
    if (threadIdx.x == blockDim.x - 1 && parts > 0) own.place = next.barrier.reserve(parts);
    tally mine = {0, 0};
    for (unsigned i = threadIdx.x; i < held; i += blockDim.x) mine.count(own.parts[level][i].length);
    own.given.add(mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (own.limit.passed) store_relaxed(&next.unlisted, 1), result.unqueued = result.notice = 1;
        result.found.sum = {own.given.sum.edges, 0};
    }
    if (own.limit.passed) return;  // the next step is PULL, which reads no queue
    part *const queue = search.queue(step) + own.place;
    for (unsigned i = threadIdx.x; i < held; i += blockDim.x) queue[i] = own.parts[level][i];
    own.spilled.template write<queue_row>(queue + held);
}

// Expand this block's parts of a level. `arcs` is QUAD times the number of parts. A part with fewer than QUAD
// arcs has empty slots. A lane without an arc reads arc 0 instead of branching, so that all loads of a thread
// are in flight together.
template <class Level, int at_a_time = Level::ARCS>
__device__ __forceinline__ void expand_share(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                             unsigned arcs, int step, unsigned level) {
    for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < arcs; i += at_a_time * blockDim.x) {  // in whole warps
        edge_t at[at_a_time];
        int entry[at_a_time], v[at_a_time], parent[at_a_time];  // `entry` is a column index with flags: neighbour.cuh
        bool mine[at_a_time];
        unsigned words[at_a_time], target[at_a_time];
        found_row rows[at_a_time];
        for (int k = 0; k < at_a_time; ++k) {
            const unsigned arc = i + k * blockDim.x;
            const part from = arc < arcs ? own.parts[level][arc / QUAD] : part{0, 0};
            mine[k] = (int)(arc % QUAD) < from.length;
            at[k] = mine[k] ? from.begin + arc % QUAD : 0;
            entry[k] = __ldg(&search.column_indices[at[k]]);
            mine[k] = mine[k] && is_arc(entry[k]);
            v[k] = neighbour_of(entry[k]);
            if (!Level::LOOKS) parent[k] = search.answer.tail(at[k]);
        }
        for (int k = 0; k < at_a_time; ++k) words[k] = Level::LOOKS && mine[k] ? bitmap.look(v[k]) : 0;
        for (int k = 0; k < at_a_time; ++k) mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
        for (int k = 0; k < at_a_time; ++k) {
            if (!Level::LOOKS) rows[k] = row_behind(search, entry[k]);
            words[k] = bitmap.claim(mine[k], v[k]);
        }
        for (int k = 0; k < at_a_time; ++k) {
            target[k] = ((unsigned)v[k] >> search.region_shift) % CLUSTER_SIZE;
            mine[k] = mine[k] && !(words[k] >> v[k] % 32 & 1);
            if (!mine[k]) {
                rows[k] = found_row{};
                continue;
            }
            if (Level::LOOKS) rows[k] = row_behind(search, entry[k]), parent[k] = search.answer.tail(at[k]);
            if (Level::LOOKS) prefetch(&search.column_indices[rows[k].begin]);
            search.reach(v[k], level + 1, parent[k]);
        }
        const unsigned warps = (arcs + 31) / 32, most = Level::ALONE ? CLUSTER_PARTS : search.when.small / CLUSTER_SIZE;
        queue_rows<Level, found_row>(search, own, rows, target, warps, most, step, level + 1);
    }
}
