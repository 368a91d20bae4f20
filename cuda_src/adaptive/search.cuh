// What the regimes of the adaptive search share: the search itself, parts of rows, and the step from a part to the
// vertices it discovers.
#pragma once

#include "atomics.cuh"
#include "barrier.cuh"
#include "graph.cuh"
#include "prefix_sum.cuh"
#include "profile.cuh"

#define WINDOW 8        // arcs that a thread reads at a time: a sector of 32 bytes
#define PART_LANES 4    // threads that share a part
static_assert(PART == PART_LANES * WINDOW, "the host defines PART, the arcs of a part");

// A frontier is a queue of parts of rows rather than of vertices, because its expansion asks for nothing else: the
// offsets have been read when the vertex was discovered. The row of a hub is many parts, each work for few threads.
struct alignas(2 * sizeof(offset_t)) part {
    offset_t begin;
    int length;
};

// A row of the graph, cut at multiples of `size` arcs: those of the array, or with aligned == false of the row.
template <unsigned size, bool aligned>
struct cut_row {
    edge_t begin, end;

    __device__ __forceinline__ edge_t origin() const { return aligned ? begin & ~(edge_t)(WINDOW - 1) : begin; }
    __device__ __forceinline__ unsigned parts() const { return (unsigned)((end - origin() + size - 1) / size); }
    __device__ __forceinline__ part nth(unsigned i) const {
        const edge_t at = origin() + (edge_t)i * size, first = max(at, begin), last = min(at + size, end);
        return part{(offset_t)first, (int)(last - first)};
    }
};
typedef cut_row<PART, true> row;  // as queued in global memory

// What a thread, a block or a level has discovered: vertices, and the sum of their out-degrees (if pulled, in-degrees).
struct tally {
    edge_t edges;
    unsigned vertices;
};

#define MOST_EDGES (1u << 20)  // of a row, as counted while rows are queued

// What is known of a frontier. A search takes steps, with a barrier of all blocks between them: a level, or a run of
// small ones. A step reads one of three frontiers and adds to the next, which is empty, while the third is emptied.
struct frontier {
    tally found;      // a cluster that hands a frontier on counts parts for vertices
    unsigned queued;  // parts
    int must_pull;    // not all of it has been queued, because it will be pulled
    int unqueued;     // it has been pulled, and not all of it has been queued
    unsigned queued_units;  // of edges, see queue_limit
    unsigned rests;   // pieces of long rows that are left of the level that found it
};

// What a search leaves of each vertex: its level or, with TREE, a parent. Who reaches a vertex says both as far as he
// knows them, and what is not kept is not computed.
template <bool tree>
struct answer_of {
    int *levels;

    __device__ __forceinline__ void level(int v, int level) const { levels[v] = level; }
    __device__ __forceinline__ void parent(int v, int u) const {}
    __device__ __forceinline__ int tail(edge_t arc) const { return 0; }
    __device__ __forceinline__ void unreached(unsigned v) const { levels[v] = UNREACHED; }
};

// A part of a row does not say whose it is, so the tails of arcs are looked up.
template <>
struct answer_of<true> {
    int *parents;
    const int *edge_sources;

    __device__ __forceinline__ void level(int v, int level) const {}
    __device__ __forceinline__ void parent(int v, int u) const { parents[v] = u; }
    __device__ __forceinline__ int tail(edge_t arc) const { return __ldg(&edge_sources[arc]); }
    __device__ __forceinline__ void unreached(unsigned v) const { parents[v] = UNREACHED; }
};
typedef answer_of<TREE> search_answer;

struct search_state {
    grid_barrier barrier;
    int level;   // at which a cluster has stopped
    int failed;  // a block gave up waiting for the others
    frontier frontiers[3];
};

struct search {
    const offset_t *row_offsets;
    const int *column_indices;
    const offset_t *column_offsets;  // in-neighbours, for pulling
    const int *row_indices;
    offset_t column_indices_end, row_indices_end;  // the last offsets
    int num_vertices;
    offset_t num_edges;
    search_answer answer;
    unsigned *open;   // a bit a vertex: not known to have no in-neighbours (those have their level)
    part *queues[2];  // of even and of odd steps; a search queues a vertex once, so they cannot overflow
    search_state *state;

    template <class Row = row>
    __device__ __forceinline__ Row row_of(int v) const {
        return Row{(edge_t)__ldg(&row_offsets[v]), (edge_t)__ldg(&row_offsets[v + 1])};
    }
    __device__ __forceinline__ unsigned words() const { return (num_vertices + 31u) / 32; }  // of a bitmap
    // With LIKELY_FIRST, the first in-neighbour of each vertex, or itself: after the rows, from a multiple of LIKELY_ALIGNMENT on.
    __device__ __forceinline__ const int *likely() const {
        return row_indices + (((edge_t)row_indices_end + LIKELY_ALIGNMENT - 1) & ~(edge_t)(LIKELY_ALIGNMENT - 1));
    }
};

// When to do what.
struct thresholds {
    unsigned small, tiny;  // parts of the largest frontier that a cluster expands, and that one of its blocks does
    int pushed_edge;
    int may_pull;
};

// Bits of the last word of a bitmap that belong to no vertex. They count as visited.
__device__ __forceinline__ unsigned tail_bits(unsigned num_vertices) {
    return num_vertices % 32 ? ALL_LANES << num_vertices % 32 : 0;
}

// Words of a bitmap for each warp to take at a time, one in a lane: no warp is to have many, and others none.
__device__ __forceinline__ unsigned words_at_a_time(unsigned words) {
    const unsigned warps = grid_threads() / 32;
    return min((words + warps - 1) / warps, 32u);
}

// Have the lines of memory around an address brought into the L2 cache, for a later level.
__device__ __forceinline__ void prefetch(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Set bits of a word for each lane that is to, and return what was set before, all bits for the others. The instruction
// is predicated rather than jumped over, so that what has been asked for before stays on its way.
__device__ __forceinline__ unsigned set_bits(bool mine, unsigned *word, unsigned bits) {
    unsigned before = ALL_LANES;
    asm volatile("{.reg .pred p; setp.ne.s32 p, %1, 0; @p atom.relaxed.gpu.global.or.b32 %0, [%2], %3;}"
                 : "+r"(before)
                 : "r"((int)mine), "l"(word), "r"(bits)
                 : "memory");
    return before;
}

// The sum over the lanes of a warp.
__device__ __forceinline__ unsigned warp_sum(unsigned mine) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL_LANES, mine);
#else
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
#endif
}
__device__ __forceinline__ unsigned long long warp_sum(unsigned long long mine) {
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(ALL_LANES, mine, distance);
    return mine;
}

// Whether any lane of a warp has a parent; with TREE all learn of one.
__device__ __forceinline__ bool any_parent(bool found, int &parent) {
    if (!TREE) return __any_sync(ALL_LANES, found);
    const unsigned lanes = __ballot_sync(ALL_LANES, found);
    parent = __shfl_sync(ALL_LANES, parent, __ffs(lanes | 1u << 31) - 1);
    return lanes != 0;
}

// What the warps of a block have found in a level, in shared memory.
struct block_tally {
    tally sum;

    // For the first thread, before a barrier of the block.
    __device__ __forceinline__ void reset() { sum = {0, 0}; }
    // For whole warps.
    __device__ __forceinline__ void add(const tally &found) {
        const tally of_warp = {warp_sum(found.edges), warp_sum(found.vertices)};
        if (threadIdx.x % 32 == 0 && of_warp.vertices > 0) {
            atomicAdd(&sum.edges, of_warp.edges);
            atomicAdd(&sum.vertices, of_warp.vertices);
        }
    }
    // For the first thread, after a barrier of the block.
    __device__ __forceinline__ void publish(tally *total) const {
        if (sum.vertices > 0) {
            atomicAdd(&total->edges, sum.edges);
            atomicAdd(&total->vertices, sum.vertices);
        }
    }
};

// A block's share in deciding that nothing more is queued: see queue_limit.
struct queue_share {
    unsigned unit, most_units;
};

// How many edges a block has queued, and whether all together have queued so many that the next level will be pulled:
// then nothing more need be queued. A block tells the others of every `unit` edges; so a hub alone decides nothing.
struct queue_limit {
    unsigned edges, unit, most_units;
    volatile int passed;

    __device__ __forceinline__ void reset(unsigned its_unit, unsigned most) {
        edges = 0, unit = its_unit, most_units = most, passed = 0;
    }
    // Count the edges of each lane's row, for the frontier that they will be of. Returns, alike for all lanes, whether
    // they need not be queued.
    __device__ __forceinline__ bool count(edge_t of_row, frontier &next) {
        if (__any_sync(ALL_LANES, passed)) return true;  // alike, though another warp may be setting it
        __syncwarp();  // all have read it
        const unsigned sum = warp_sum((unsigned)min(of_row, (edge_t)MOST_EDGES));
        if (threadIdx.x % 32 == 0 && sum > 0) tell(atomicAdd(&edges, sum), sum, next);
        return false;
    }
    // For one thread of the block: all edges that it has found so far. Returns whether others have been told of some.
    __device__ __forceinline__ bool count_all(edge_t so_far, frontier &next) {
        const unsigned now = (unsigned)min(so_far, (edge_t)1 << 31), before = edges;
        edges = now;
        return now > before && tell(before, now - before, next);
    }
    // For one thread of the block: whether all together have come to find too much since.
    __device__ __forceinline__ void look_again(const frontier &next) {
        if (load_relaxed(&next.queued_units) > most_units) passed = 1;
    }
    __device__ __forceinline__ bool tell(unsigned before, unsigned more, frontier &next) {
        if (more < unit && before % unit + more < unit) return false;
        const unsigned units = (before % unit + more) / unit;
        if (atomicAdd(&next.queued_units, units) + units > most_units) passed = 1;
        return true;
    }
};

__device__ __forceinline__ int4 load_quad(const int *column_indices, edge_t at, edge_t array_end) {
    if (at + 4 <= array_end) return __ldg(reinterpret_cast<const int4 *>(column_indices + at));
    int4 quad = {0, 0, 0, 0};  // the last quad of the array, of which the rest is not ours to read
    if (at < array_end) quad.x = __ldg(column_indices + at);
    if (at + 1 < array_end) quad.y = __ldg(column_indices + at + 1);
    if (at + 2 < array_end) quad.z = __ldg(column_indices + at + 2);
    return quad;
}

// The column indices of a window; entry k of `columns` belongs to it if bit k of the result is set.
__device__ __forceinline__ unsigned load_window(const int *column_indices, offset_t array_end, const part &window,
                                                int (&columns)[WINDOW]) {
    const edge_t base = (edge_t)window.begin & ~(edge_t)3;
    const unsigned first = (unsigned)((edge_t)window.begin - base);
    int4 low = {0, 0, 0, 0}, high = {0, 0, 0, 0};
    if (window.length > 0) low = load_quad(column_indices, base, array_end);
    if (first + window.length > 4) high = load_quad(column_indices, base + 4, array_end);
    columns[0] = low.x, columns[1] = low.y, columns[2] = low.z, columns[3] = low.w;
    columns[4] = high.x, columns[5] = high.y, columns[6] = high.z, columns[7] = high.w;
    return ((1u << window.length) - 1) << first;
}

// Sum of `mine` over the lanes below this one, and over all lanes.
__device__ __forceinline__ unsigned sum_before(unsigned mine, unsigned &total) {
    return exclusive_sum(warp_lanes(threadIdx.x % 32), mine, total);
}

// Write the parts of a row to consecutive places, for each lane. The lanes of a warp share the work on long rows.
__device__ __forceinline__ void write_parts(part *queue, unsigned slot, const row &mine, unsigned parts) {
    const unsigned few = 4;  // that a lane writes by itself
    if (parts <= few)
#pragma unroll 1
        for (unsigned i = 0; i < parts; ++i) queue[slot + i] = mine.nth(i);
#pragma unroll 1
    for (unsigned lanes = __ballot_sync(ALL_LANES, parts > few); lanes; lanes &= lanes - 1) {
        const int owner = __ffs(lanes) - 1;
        const row its = {__shfl_sync(ALL_LANES, mine.begin, owner), __shfl_sync(ALL_LANES, mine.end, owner)};
        const unsigned at = __shfl_sync(ALL_LANES, slot, owner), n = its.parts();
#pragma unroll 1
        for (unsigned i = threadIdx.x % 32; i < n; i += 32) queue[at + i] = its.nth(i);
    }
}

// Queue rows for a step in global memory: each lane one or none. For whole warps.
__device__ __forceinline__ void append_rows(const search &search, const row &mine, unsigned parts, int step) {
    unsigned total, slot = 0;
    const unsigned before = sum_before(parts, total);
    if (threadIdx.x % 32 == 0) slot = atomicAdd(&search.state->frontiers[step % 3].queued, total);
    write_parts(search.queues[step % 2], __shfl_sync(ALL_LANES, slot, 0) + before, mine, parts);
}
