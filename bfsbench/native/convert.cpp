// convert: sorts the arcs of a graph by row. This turns an edge list into CSR form, and CSR form into CSC
// form.
//
// The sort is a counting sort in two passes, so that scattered writes stay within a core's cache. The first pass
// distributes arcs to at most 2^kBucketBits + 1 buckets of neighbouring rows. The second pass sorts each bucket by
// row. In the first pass each worker distributes one contiguous slice of the input. In each bucket, the arcs of a
// slice come after the arcs of earlier slices. So arcs of one row keep the order of the input.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "parallel.h"

namespace {

constexpr int kBucketBits = 11;

struct Arcs {
    int64_t count;
    const int32_t* rows;
    const int32_t* columns;
    bool mirror;      // an edge stands for two arcs, one in each direction; a self loop is one arc
    bool drop_loops;

    template <class Emit>
    void each(int64_t begin, int64_t end, Emit emit) const {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t u = rows[i], v = columns[i];
            if (u == v && drop_loops) continue;
            emit(u, v);
            if (mirror && u != v) emit(v, u);
        }
    }
};

inline uint64_t pack(int32_t row, int32_t column) {
    return static_cast<uint64_t>(row) << 32 | static_cast<uint32_t>(column);
}
inline int64_t row_of(uint64_t arc) { return static_cast<int64_t>(arc >> 32); }

// Distributes all arcs to buckets of 2^shift rows. Stores the buckets in `dealt`, one after another. Each
// element of `dealt` is one arc, as a word made by pack(). deal() returns the index in `dealt` at which each
// bucket begins, followed by the end of the last bucket.
std::vector<int64_t> deal(const Arcs& arcs, int64_t buckets, int shift, uint64_t* dealt) {
    const int workers = bfsbench::worker_count(arcs.count);
    std::vector<int64_t> cursors(workers * buckets);
    bfsbench::parallel_slices(arcs.count, workers, [&](int worker, int64_t begin, int64_t end) {
        int64_t* counts = &cursors[worker * buckets];
        arcs.each(begin, end, [=](int32_t row, int32_t) { ++counts[row >> shift]; });
    });
    std::vector<int64_t> starts(buckets + 1);
    int64_t total = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
        starts[bucket] = total;
        for (int worker = 0; worker < workers; ++worker) {
            const int64_t count = cursors[worker * buckets + bucket];
            cursors[worker * buckets + bucket] = total;
            total += count;
        }
    }
    starts[buckets] = total;
    bfsbench::parallel_slices(arcs.count, workers, [&](int worker, int64_t begin, int64_t end) {
        int64_t* next = &cursors[worker * buckets];
        arcs.each(begin, end, [=](int32_t row, int32_t column) { dealt[next[row >> shift]++] = pack(row, column); });
    });
    return starts;
}

// Sorts one bucket by row, with a counting sort. The bucket contains the rows first_row .. first_row + rows -
// 1, and the arcs begin .. end - 1 of `dealt`.
void sort_bucket(const uint64_t* dealt, int64_t begin, int64_t end, int64_t first_row, int64_t rows, bool sort_rows,
                 int64_t* offsets, int32_t* columns) {
    std::vector<int64_t> next(rows + 1);
    for (int64_t i = begin; i < end; ++i) ++next[row_of(dealt[i]) - first_row + 1];
    next[0] = begin;
    for (int64_t row = 0; row < rows; ++row) {
        offsets[first_row + row] = next[row];
        next[row + 1] += next[row];
    }
    for (int64_t i = begin; i < end; ++i)
        columns[next[row_of(dealt[i]) - first_row]++] = static_cast<int32_t>(dealt[i]);
    if (!sort_rows) return;
    // After the loop above, next[row] is the end of the row.
    for (int64_t row = 0; row < rows; ++row) std::sort(columns + offsets[first_row + row], columns + next[row]);
}

}  // namespace

extern "C" {

// Returns the number of self loops, or -1 if a vertex id lies outside 0 .. num_vertices - 1.
int64_t count_loops(int64_t count, const int32_t* rows, const int32_t* columns, int32_t num_vertices) {
    std::atomic<int64_t> loops{0}, outside{0};
    const auto limit = static_cast<uint32_t>(num_vertices);
    bfsbench::parallel_slices(count, bfsbench::worker_count(count), [&](int, int64_t begin, int64_t end) {
        int64_t equal = 0, wrong = 0;
        for (int64_t i = begin; i < end; ++i) {
            equal += rows[i] == columns[i];
            wrong += static_cast<uint32_t>(rows[i]) >= limit || static_cast<uint32_t>(columns[i]) >= limit;
        }
        loops += equal;
        outside += wrong;
    });
    return outside ? -1 : loops.load();
}

// Sorts arcs by row. `count` is the length of `rows` and `columns_in`. If `mirror` is set, an edge (u, v)
// stands for the arcs u -> v and v -> u. If `drop_loops` is set, self loops are left out. Stores num_vertices
// + 1 row offsets in `offsets`, and column indices in `columns`. `columns` and the scratch array `dealt` must
// have room for all arcs. Within a row, columns keep the order of the input, or ascend if `sort_rows` is set.
void group_by_row(int64_t count, const int32_t* rows, const int32_t* columns_in, int32_t mirror, int32_t drop_loops,
                  int32_t sort_rows, int64_t num_vertices, uint64_t* dealt, int64_t* offsets, int32_t* columns) {
    int shift = 0;
    while (num_vertices >> shift > int64_t{1} << kBucketBits) ++shift;
    const int64_t buckets = (num_vertices >> shift) + 1;
    const auto starts = deal({count, rows, columns_in, mirror != 0, drop_loops != 0}, buckets, shift, dealt);
    const int64_t total = starts[buckets];
    bfsbench::parallel_blocks(buckets, 1, bfsbench::worker_count(total + num_vertices), [&](int64_t bucket, int64_t) {
        const int64_t first_row = bucket << shift;
        const int64_t rows_here = std::min((bucket + 1) << shift, num_vertices) - first_row;
        if (rows_here > 0)
            sort_bucket(dealt, starts[bucket], starts[bucket + 1], first_row, rows_here, sort_rows != 0, offsets,
                        columns);
    });
    offsets[num_vertices] = total;
}

// Computes the row offsets of the graph without parallel arcs. The columns of each row must ascend.
void offsets_without_duplicates(int64_t num_vertices, const int64_t* offsets, const int32_t* columns,
                                int64_t* unique_offsets) {
    bfsbench::parallel_blocks(num_vertices, 1 << 12, bfsbench::worker_count(offsets[num_vertices]),
                              [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t unique = 0;
            for (int64_t i = offsets[row]; i < offsets[row + 1]; ++i)
                unique += i == offsets[row] || columns[i] != columns[i - 1];
            unique_offsets[row + 1] = unique;
        }
    });
    unique_offsets[0] = 0;
    for (int64_t row = 0; row < num_vertices; ++row) unique_offsets[row + 1] += unique_offsets[row];
}

void copy_without_duplicates(int64_t num_vertices, const int64_t* offsets, const int32_t* columns,
                             const int64_t* unique_offsets, int32_t* unique_columns) {
    bfsbench::parallel_blocks(num_vertices, 1 << 12, bfsbench::worker_count(offsets[num_vertices]),
                              [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            std::unique_copy(columns + offsets[row], columns + offsets[row + 1], unique_columns + unique_offsets[row]);
    });
}

// Stores the row of each arc in `rows`, which has one element per arc. `offsets` contains the row offsets of
// a graph in CSR form.
void expand_rows(int64_t num_vertices, const int64_t* offsets, int32_t* rows) {
    bfsbench::parallel_blocks(num_vertices, 1 << 12, bfsbench::worker_count(offsets[num_vertices]),
                              [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            std::fill(rows + offsets[row], rows + offsets[row + 1], static_cast<int32_t>(row));
    });
}
}
