// Runs small levels (the regime CLUSTER): one thread-block cluster runs level after level, with queues in its
// shared memory.
//
// A level is a chain of dependent accesses. A thread reads a queue entry, which is a run of at most four arcs
// in one row. The thread reads a column index, and claims the neighbour. The thread then reads the offsets of
// the neighbour's row, and writes queue entries for the next level. Then the thread waits at the cluster's
// barrier. The queues and their sizes are in shared memory. Each block owns many regions of neighbouring ids,
// and queues rows of vertices in its regions. So all blocks get about equal numbers of entries, and read
// different pages of the graph.
//
// If a block's queue has no room for a row, the row is spilled: it goes to a list of rows for global memory.
// The cluster then stops after the level, and writes the rest of the frontier to the queue in global memory.
// Most spilled rows are long, and a few warps may have found all of them. So when the cluster stops, the
// warps of the block take the listed rows in turn, and cut them into queue entries. Spilling is slow. So the
// cluster stops before a level that is likely to find more than 4 * SMALL_PARTS entries. All blocks then
// expand that level.
//
// The host defines CLUSTER_PARTS, the capacity of one block's queue: 2,048 entries, or 1,024 entries with
// WIDE_OFFSETS.
#pragma once

#include "block_cluster.cuh"
#include "search.cuh"

constexpr int SPILLED_ROWS = 512;  // the most rows that a block sets aside for the queue in global memory
typedef cut_row<QUAD, OF_ROW> cluster_row;
__device__ __forceinline__ cluster_row whole_row(const bfs &, const cluster_row &row) { return row; }

#if SHORT_ROWS
#include "short_rows.cuh"
#else
typedef cluster_row found_row;
constexpr bool MAY_BE_LONG = true;  // true if a row may have more queue entries than one lane writes
__device__ __forceinline__ found_row row_behind(const bfs &search, int v) { return search.row_of<found_row>(v); }

// The bitmap of reached vertices, if SHORT_ROWS is 0. The threads of a cluster claim vertices in it. The bitmap
// lies in global memory, so load() and store() have nothing to copy. The loads of look() are relaxed and claims are
// atomic, so these accesses do not race. (If SHORT_ROWS is 1, `cluster_bitmap` of short_rows.cuh is used instead.)
struct cluster_bitmap {
    const bfs &search;
    unsigned *visited;
    __device__ __forceinline__ unsigned look(int v) const { return load_relaxed(&visited[v / 32u]); }
    __device__ __forceinline__ unsigned claim(bool mine, int v) const { return set_bit(mine, visited, v); }
    __device__ __forceinline__ void load(bool) const {}
    __device__ __forceinline__ void store() const {}
};
#endif

// The modes in which a block expands its queue entries in a level. In a narrow_level each thread
// has at most one arc. The thread immediately claims the neighbour, and reads offsets before it
// knows the result of the claim. So the chain of accesses is short. In a crowded_level a thread
// has more arcs. The thread first reads the bitmap, and reads offsets of claimed vertices only. So
// the thread makes fewer accesses. In a lone_level the first block runs the level alone, and
// queues all rows in its own queue. A taken_level reads the source or a frontier in global memory.
// The block queues short rows in its own queue, and long rows in the queues of all blocks.
struct narrow_level { enum { ARCS = 1, LOOKS = false, KEEPS = false, ALONE = false }; };
struct crowded_level { enum { ARCS = 2, LOOKS = true, KEEPS = false, ALONE = false }; };
struct lone_level { enum { ARCS = 1, LOOKS = false, KEEPS = true, ALONE = true }; };
struct taken_level { enum { KEEPS = true, ALONE = false }; };

// The action of the cluster before a level. GO_ON: run the level. DECIDE: leave the loop over levels. COUNT:
// leave the loop and count the level exactly, because the level may find more than 4 * SMALL_PARTS queue
// entries.
enum pause_kind { GO_ON, DECIDE, COUNT };

struct cluster_queues {
    in_turn<part[CLUSTER_PARTS], 2> parts;
    rows_aside<SPILLED_ROWS> spilled;
    // The number of places requested in this block's queue for a level. It exceeds
    // CLUSTER_PARTS, the queue's capacity, if there was no room for some rows.
    in_turn<unsigned, 3> sizes;
    in_turn<int, 2> overflow;  // true if a queue had no room for a row of a level
    in_turn<pause_kind, 2> pause;
    unsigned total;  // the cluster's queue entries in the last counted level; 0 if unknown
    // The growth of the frontier: `total`, divided by the total of the previous level. At the start of a
    // step, `growth` is set to the mean degree if the frontier is the source, and to 1 otherwise.
    float growth;
    unsigned tiny_levels;  // number of consecutive tiny levels, including the level that `total` counts
    unsigned last;  // the cluster stops before this level in any case
    // Results of run_tiny_levels(). `stopped` is the first level that the first block did not expand alone,
    // and `left` is the number of queue entries of this level. `left` is ~0u if a queue was full.
    unsigned stopped, left;
    unsigned place;  // where this block's entries begin in the queue in global memory
    // Counts the arcs of rows that go to global memory because a queue was full.
    edge_limit<next_frontier> limit;
    // given.sum.edges is the number of arcs that this block writes to the queue in global memory. With
    // SHORT_ROWS a record counts as QUAD arcs. given.sum.vertices is unused.
    block_tally given;

    __device__ __forceinline__ unsigned held(unsigned level) const { return min(sizes[level], CLUSTER_PARTS); }
};

// Spills rows that have no place in the cluster's queues, at most one row per lane. All lanes of a warp must
// call this function. The rows go to the list `spilled` of this block, which the block writes to the queue in
// global memory when the cluster stops. If the list is full, the warp itself writes the rows to that queue.
// The function also tells the first `blocks` blocks of the cluster about the overflow. If the first block runs
// the level alone, `blocks` is 1. The other blocks then learn of the overflow from `left`, which is ~0u.
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
    // True if the row of some lane is too long for part::length.
    const bool endless = WIDE_OFFSETS && __any_sync(ALL_LANES, edges > 0x7fffffffu);
    const bool fit = place + __popc(lanes) <= SPILLED_ROWS && !endless;
    if (!fit) append_rows(search, whole, parts, step);
    const auto reserve = [&](unsigned total) { return fit ? atomicAdd(&own.spilled.parts, total) : 0; };
    const unsigned first = reserve_together(parts, reserve);
    place += __popc(lanes & (1u << lane) - 1);
    if (!spill || place >= SPILLED_ROWS) return;
    own.spilled.keep(place, fit ? mine.begin : 0, fit ? edges : 0, first);
}

// Queues long rows in the cluster, at most one row per lane. All lanes of a warp must call this function. The
// entries go to the queues of all blocks in turn or, if `alone`, to the queue of this block. If a queue has
// no room, the function returns false and fills the reserved places with empty entries. If the rows exceed
// the capacity of all queues, the function returns false without reserving places. The function also returns
// false if `warps` times this warp's entries exceed `most`, because the cluster would stop anyway. For
// example, a row of 100,000 arcs has 25,000 entries, which exceed `most` in every call. So the function
// returns false, and the caller spills the row.
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

// Queues `rows`, the rows of this lane, for the next level; a row may be empty. If rows[k] has at most 8
// queue entries, the lane writes them to the queue of block target[k]. With Level::KEEPS, it writes them to
// the queue of this block. queue_long_rows queues longer rows, if they stay within the limits that `warps`
// and `most` set. spill_rows takes the rows for which there is no room. All lanes of a warp must call this
// function.
template <class Level, class Row, int at_a_time>
__device__ __forceinline__ void queue_rows(const bfs &search, cluster_queues &own, const Row (&rows)[at_a_time],
                                           const unsigned (&target)[at_a_time], unsigned warps, unsigned most, int step,
                                           unsigned level) {
    // few[k] is the number of queue entries of rows[k] that this lane writes itself. slots[k] is the place of
    // the first of them in the queue of the target block.
    unsigned few[at_a_time], slots[at_a_time];
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

// Fills the cluster's queues with the row of vertex `source` or, if `source` is negative, with `queued`
// entries from the queue in global memory. The blocks take eight entries at a time, in turn. A block puts
// short rows into its own queue, because this needs no access to another block's memory.
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

// Writes this block's queue entries, and the rows that it has set aside, to the queue in global memory. All
// threads of the block must call this function.
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

// Expands this block's queue entries of a level. `arcs` is QUAD times the number of entries. An entry with
// fewer than QUAD arcs leaves some threads without an arc. Threads without an arc read arc 0 instead of
// branching, so that all loads of a thread are in flight together.
template <class Level, int at_a_time = Level::ARCS>
__device__ __forceinline__ void expand_share(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                             unsigned arcs, int step, unsigned level) {
    // All lanes of a warp leave the loop together, because they call queue_rows() together.
    for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < arcs; i += at_a_time * blockDim.x) {
        edge_t at[at_a_time];
        // `entry` is a column index, perhaps with flags (neighbour.cuh).
        int entry[at_a_time], v[at_a_time], parent[at_a_time];
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
