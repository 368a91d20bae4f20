// Functions that cut rows into parts, and that read and queue parts. A part is a run of neighbouring arcs in one
// row. Each entry of a queue is a part.
#pragma once

#include "prefix_sum.cuh"
#include "window.cuh"

struct alignas(2 * sizeof(offset_t)) part {
    offset_t begin;
    int length;
};

// The ways to cut a row of the graph into parts of up to `size` arcs. With OF_ARRAY, the cuts are at
// multiples of WINDOW in the array of column indices, so that every part but the first begins at a multiple of
// WINDOW. With OF_ROW, the cuts are at multiples of `size` from the start of the row.
enum cut_kind { OF_ARRAY, OF_ROW };
template <unsigned size, cut_kind cut>
struct cut_row {
    edge_t begin, end;

    __device__ __forceinline__ edge_t origin() const { return cut == OF_ARRAY ? begin & ~(edge_t)(WINDOW - 1) : begin; }
    __device__ __forceinline__ unsigned parts() const { return (unsigned)((end - origin() + size - 1) / size); }
    __device__ __forceinline__ part nth(unsigned i) const {
        const edge_t at = origin() + (edge_t)i * size, first = max(at, begin), last = min(at + size, end);
        return part{(offset_t)first, (int)(last - first)};
    }
};

__device__ __forceinline__ int4 load_quad(const int *column_indices, edge_t at, edge_t array_end) {
    if (at + 4 <= array_end) return __ldg(reinterpret_cast<const int4 *>(column_indices + at));
    int4 quad = {0, 0, 0, 0};  // the array may end within these four elements
    if (at < array_end) quad.x = __ldg(column_indices + at);
    if (at + 1 < array_end) quad.y = __ldg(column_indices + at + 1);
    if (at + 2 < array_end) quad.z = __ldg(column_indices + at + 2);
    return quad;
}

// Loads the column indices of the arcs of `window` into `columns`. The loads are aligned, so `columns` may
// also get neighbouring arcs. Returns a mask: bit k is set if columns[k] is an arc of `window`.
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

// Visits the rows of all lanes whose `mine` is true, one row after another. All lanes of a warp must call
// this function. For each row, all lanes call visit(row, place). `row` and `place` then have the values that the
// lane of this row has passed.
template <class Row, class Visit>
__device__ __forceinline__ void visit_rows(bool mine, const Row &row, unsigned place, Visit visit) {
#pragma unroll 1
    for (unsigned lanes = __ballot_sync(ALL_LANES, mine); lanes; lanes &= lanes - 1) {
        const int owner = __ffs(lanes) - 1;
        const Row its = {__shfl_sync(ALL_LANES, row.begin, owner), __shfl_sync(ALL_LANES, row.end, owner)};
        visit(its, __shfl_sync(ALL_LANES, place, owner));
    }
}

// Writes the parts of each lane's row to consecutive places in a queue. All lanes of a warp must call this
// function, and share the work on long rows.
template <class Row>
__device__ __forceinline__ void write_parts(part *queue, unsigned slot, const Row &mine, unsigned parts) {
    const unsigned few = 4;  // the most parts that a lane writes itself
    if (parts <= few)
#pragma unroll 1
        for (unsigned i = 0; i < parts; ++i) queue[slot + i] = mine.nth(i);
    visit_rows(parts > few, mine, slot, [&](const Row &its, unsigned at) {
        const unsigned n = its.parts();
#pragma unroll 1
        for (unsigned i = threadIdx.x % 32; i < n; i += 32) queue[at + i] = its.nth(i);
    });
}

// Rows that wait in shared memory until the warps of a block cut them into parts, one row per warp at a time. Without
// this list, the few warps that have found the rows would have to do all this work. A waiting row is stored as one
// object of type `part`, so its length must fit part::length. `slots` holds the queue place of each row's first part.
template <unsigned room>
struct rows_aside {
    part rows[room];
    unsigned slots[room];
    // `count` is the number of rows that callers wanted to keep. At most `room` rows are kept. `parts` is the
    // number of queue places that callers have reserved. `parts` may include places for rows that were not kept.
    unsigned count, parts;

    __device__ __forceinline__ void reset() { count = parts = 0; }
    __device__ __forceinline__ void keep(unsigned place, edge_t begin, edge_t length, unsigned slot) {
        rows[place] = part{(offset_t)begin, (int)length};
        slots[place] = slot;
    }
    // Writes the parts of all kept rows to a queue. All warps of the block must call this function, after a
    // barrier of the block.
    template <class Row>
    __device__ __forceinline__ void write(part *queue) const {
#pragma unroll 1
        for (unsigned r = threadIdx.x / 32; r < min(count, room); r += blockDim.x / 32) {
            const edge_t begin = rows[r].begin;
            const Row row = {begin, begin + rows[r].length};
            const unsigned parts = row.parts(), first = slots[r];
#pragma unroll 1
            for (unsigned i = threadIdx.x % 32; i < parts; i += 32) queue[first + i] = row.nth(i);
        }
    }
};

// The arcs of up to 32 parts, numbered consecutively. Each lane of a warp passes one part, and the parts are
// in the order of the lanes. All lanes of a warp must construct an arc_run.
struct arc_run {
    unsigned end;    // number of arcs in the parts of this lane and of earlier lanes
    edge_t origin;   // arc n of the run has the offset origin + n, if it is in this lane's part
    unsigned total;  // the number of arcs of all lanes' parts

    __device__ __forceinline__ explicit arc_run(const part &mine) {
        end = sum_before(mine.length, total) + mine.length;
        origin = mine.begin - (edge_t)(end - mine.length);
    }
    // Returns the offset of arc `n` of the run; `n` may differ by lane. All lanes of a warp must call this
    // function.
    __device__ __forceinline__ edge_t nth(unsigned n) const {
        unsigned owner = 0;
#pragma unroll
        for (int half = 16; half > 0; half /= 2)
            if (__shfl_sync(ALL_LANES, end, owner + half - 1) <= n) owner += half;
        return __shfl_sync(ALL_LANES, origin, owner) + n;
    }
};
