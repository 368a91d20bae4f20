// The regime of small frontiers: one thread-block cluster runs level after level, its queues in shared memory.
//
// A level is a chain of dependent accesses: part, column index, claim, place in a queue, barrier. The first and the
// last two stay within the cluster. Vertices are dealt out to its blocks by regions of neighbouring ids, many to a
// block: so shares of a level are about equal, and each block reads other pages of a graph.
//
// A row for which a block's queue has no place is spilled: the cluster then stops after the level, as when the frontier
// outgrows it, and hands all of it on by way of global memory. Spilled rows are mostly long, and few warps may have
// found all of them, so it is then that all warps of the block cut them into parts. A level likely to find far too much
// is handed on before it is expanded, since spilling costs more than what all blocks find in it.
//
// The host defines QUAD, the arcs of a part here and threads that share it, and CLUSTER_PARTS, the room of a queue.
#pragma once

#include "block_cluster.cuh"
#include "search.cuh"

constexpr int SPILLED_ROWS = 512;  // that a block keeps until it has come to the end of the level
typedef cut_row<QUAD, OF_ROW> cluster_row;
__device__ __forceinline__ cluster_row whole_row(const bfs &, const cluster_row &row) { return row; }

#if SHORT_ROWS
#include "short_rows.cuh"
#else
typedef cluster_row found_row;
constexpr bool MAY_BE_LONG = true;  // whether a row may have more parts than a lane writes by itself
__device__ __forceinline__ found_row row_behind(const bfs &search, int v) { return search.row_of<found_row>(v); }

// Where claims are made: in the bitmap of the whole search, which stays where it is.
struct cluster_bitmap {
    const bfs &search;
    unsigned *visited;
    __device__ __forceinline__ unsigned look(int v) const { return load_relaxed(&visited[v / 32u]); }
    __device__ __forceinline__ unsigned claim(bool mine, int v) const { return set_bit(mine, visited, v); }
    __device__ __forceinline__ void load(bool) const {}
    __device__ __forceinline__ void store() const {}
};
#endif

// How a block expands its share of a level. With few arcs, each thread takes one, claims at once, and reads offsets
// while the claim is on its way, for nothing if another thread has been first. With more, bits are looked at before,
// and offsets read only for what has been claimed: more steps in a row, fewer accesses; what follows is read ahead, as
// such a graph may be too large for the cache. The first block alone keeps what it finds, and tells no other one. What
// a block has taken from global memory it keeps, too, but for a source of many arcs.
struct narrow_level { enum { ARCS = 1, LOOKS = false, KEEPS = false, ALONE = false }; };
struct crowded_level { enum { ARCS = 2, LOOKS = true, KEEPS = false, ALONE = false }; };
struct lone_level { enum { ARCS = 1, LOOKS = false, KEEPS = true, ALONE = true }; };
struct taken_level { enum { KEEPS = true, ALONE = false }; };

enum pause_kind { GO_ON, DECIDE, COUNT };  // before a level: to count it, as it may outgrow what is small

struct cluster_queues {
    in_turn<part[CLUSTER_PARTS], 2> parts;
    rows_aside<SPILLED_ROWS> spilled;
    in_turn<unsigned, 3> sizes;  // of levels; may exceed the capacity, by what has been spilled
    in_turn<int, 2> overflow;    // whether something of a level has been spilled
    in_turn<pause_kind, 2> pause;
    unsigned total;              // parts of the level expanded last, in the whole cluster
    float growth;                // from the level before to that one; at first as expected
    unsigned tiny_levels;        // in a row, that one included
    unsigned last;               // level before which the cluster stops in any case
    unsigned stopped, left;      // where one block alone has stopped: the level, and its parts
    unsigned place;              // in global memory
    edge_limit<next_frontier> limit;  // of rows that found no place
    block_tally given;           // what goes to global memory; only its edges are told

    __device__ __forceinline__ unsigned held(unsigned level) const { return min(sizes[level], CLUSTER_PARTS); }
};

// Set rows aside for global memory: each lane one or none; tell all blocks, or its own alone. For whole warps.
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
    const bool endless = WIDE_OFFSETS && __any_sync(ALL_LANES, edges > 0x7fffffffu);  // more arcs than a part can have
    const bool fit = place + __popc(lanes) <= SPILLED_ROWS && !endless;
    if (!fit) append_rows(search, whole, parts, step);  // by this warp alone
    const auto reserve = [&](unsigned total) { return fit ? atomicAdd(&own.spilled.parts, total) : 0; };
    const unsigned first = reserve_together(parts, reserve);
    place += __popc(lanes & (1u << lane) - 1);
    if (!spill || place >= SPILLED_ROWS) return;
    own.spilled.keep(place, fit ? mine.begin : 0, fit ? edges : 0, first);
}

// Queue long rows in the cluster: each lane one row with its number of parts, or none. All parts are dealt out to the
// blocks as if of one row; a block that is alone keeps them. False if there is no room; places that have been reserved
// then hold empty parts. It is not tried if the level would outgrow `most`, had `warps` as much to queue.
__device__ __noinline__ bool queue_long_rows(cluster_queues &own, cluster_row mine, unsigned parts, unsigned warps,
                                             unsigned most, unsigned level, bool alone) {
    const unsigned lane = threadIdx.x % 32, target = threadIdx.x / 32 + level;
    unsigned total, slot = 0, share = 0;
    const unsigned before = sum_before(parts, total);
    if (total > CLUSTER_SIZE * CLUSTER_PARTS || total * warps > most) return false;
    const unsigned blocks = alone ? 1 : CLUSTER_SIZE;
    if (lane < blocks) {  // lane r reserves in the r-th block from the target on
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

// Queue rows for the next level: each lane some, or empty ones; short ones in the `target` block. The rest: see above.
template <class Level, class Row, int at_a_time>
__device__ __forceinline__ void queue_rows(const bfs &search, cluster_queues &own, const Row (&rows)[at_a_time],
                                           const unsigned (&target)[at_a_time], unsigned warps, unsigned most, int step,
                                           unsigned level) {
    unsigned few[at_a_time], slots[at_a_time];  // parts that a lane writes by itself
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

// Take the source, one row, or if that is negative a share of the frontier from global memory, in turns by eight parts.
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

// Append what this block holds of the frontier to the queue in global memory.
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
    if (own.limit.passed) return;  // nobody will read it
    part *const queue = search.queue(step) + own.place;
    for (unsigned i = threadIdx.x; i < held; i += blockDim.x) queue[i] = own.parts[level][i];
    own.spilled.template write<queue_row>(queue + held);
}

// Expand the arcs of this block in a level. Lanes without an arc read the first one: so all accesses are made together.
template <class Level, int at_a_time = Level::ARCS>
__device__ __forceinline__ void expand_share(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                             unsigned arcs, int step, unsigned level) {
    for (unsigned i = threadIdx.x; i - threadIdx.x % 32 < arcs; i += at_a_time * blockDim.x) {  // in whole warps
        edge_t at[at_a_time];
        int entry[at_a_time], v[at_a_time], parent[at_a_time];  // an entry of the column indices: see neighbour.cuh
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
