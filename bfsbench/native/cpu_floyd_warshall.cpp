// cpu_floyd_warshall: the Floyd-Warshall algorithm (course paper CSE 6230) on all cores, in tiles that fit
// the cache (Venkataraman, Sahni and Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm", 2003).
//
// Round k allows paths through kTile more vertices. First it finishes the tile k on the diagonal of the
// distance matrix. Second, it finishes the other tiles in the row and the column of this tile. Third, it
// updates all remaining tiles. Each remaining tile needs one finished tile of the row and one finished tile
// of the column.
//
// Infinite distances need no test. A path with an infinite part is never shorter, and twice the infinite
// distance fits an int32.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "parallel.h"

// Makes the compiler generate two versions of a function, with and without AVX2 instructions. The loader
// chooses the version that the processor supports.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define BFSBENCH_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define BFSBENCH_AVX2
#endif

namespace {

constexpr int64_t kTile = 64;
constexpr int64_t kLanes = 8, kVectors = 4;  // fast_relax processes kLanes * kVectors columns at a time

typedef int32_t Vector __attribute__((vector_size(4 * kLanes)));

// The distances and the next hops of all pairs of vertices. Each array is [n][n]. `hops` is null if the
// caller wants no next hops.
struct Matrix {
    int64_t n;
    int32_t *distances, *hops;
};

struct Range {
    int64_t begin, end;
};

Range tile(int64_t number, int64_t n) { return {number * kTile, std::min((number + 1) * kTile, n)}; }

// Shortens paths from the vertices `rows` to the vertices `columns` by paths through the vertices `middle`.
// The ranges may be equal.
BFSBENCH_AVX2 void relax(const Matrix& matrix, Range rows, Range columns, Range middle) {
    const int64_t n = matrix.n;
    for (int64_t k = middle.begin; k < middle.end; ++k) {
        const int32_t* from_k = matrix.distances + k * n;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
            int32_t* row = matrix.distances + i * n;
            const int32_t to_k = row[k];
            if (i == k) continue;
            if (!matrix.hops) {
#pragma GCC ivdep
                for (int64_t j = columns.begin; j < columns.end; ++j) row[j] = std::min(row[j], to_k + from_k[j]);
                continue;
            }
            int32_t* hops = matrix.hops + i * n;
            const int32_t hop = hops[k];
#pragma GCC ivdep
            for (int64_t j = columns.begin; j < columns.end; ++j) {
                const int32_t length = to_k + from_k[j];
                hops[j] = length < row[j] ? hop : hops[j];
                row[j] = std::min(row[j], length);
            }
        }
    }
}

// Computes the same distances as relax(), but no next hops. `rows` and `columns` must differ from `middle`.
// The function is faster than relax(), because the distances of a row stay in registers. It copies the rows
// `middle` into a separate array, because rows of a matrix whose size is a power of two would compete for the
// same cache lines.
BFSBENCH_AVX2 void fast_relax(const Matrix& matrix, Range rows, Range columns, Range middle) {
    const int64_t n = matrix.n, step = kLanes * kVectors;
    int64_t j = columns.begin;
    Vector from[kTile][kVectors];
    for (; j + step <= columns.end; j += step) {
        for (int64_t k = middle.begin; k < middle.end; ++k)
            std::memcpy(from[k - middle.begin], matrix.distances + k * n + j, sizeof from[0]);
        for (int64_t i = rows.begin; i < rows.end; ++i) {
            int32_t* row = matrix.distances + i * n;
            Vector best[kVectors];
            std::memcpy(best, row + j, sizeof best);
            for (int64_t k = middle.begin; k < middle.end; ++k) {
                for (int64_t part = 0; part < kVectors; ++part) {
                    const Vector length = from[k - middle.begin][part] + row[k];
                    best[part] = length < best[part] ? length : best[part];
                }
            }
            std::memcpy(row + j, best, sizeof best);
        }
    }
    relax(matrix, rows, {j, columns.end}, middle);
}

void solve(const Matrix& matrix) {
    const int64_t n = matrix.n, tiles = (n + kTile - 1) / kTile;
    const int workers = n < 4 * kTile ? 1 : bfsbench::available_cores();
    for (int64_t round = 0; round < tiles; ++round) {
        const Range middle = tile(round, n);
        relax(matrix, middle, middle, middle);
        bfsbench::parallel_blocks(tiles, 1, workers, [&](int64_t other, int64_t) {
            if (other == round) return;
            relax(matrix, middle, tile(other, n), middle);
            relax(matrix, tile(other, n), middle, middle);
        });
        bfsbench::parallel_blocks(tiles, 1, workers, [&](int64_t row, int64_t) {
            if (row == round) return;
            for (int64_t column = 0; column < tiles; ++column) {
                if (column == round) continue;
                const auto shorten = matrix.hops ? relax : fast_relax;
                shorten(matrix, tile(row, n), tile(column, n), middle);
            }
        });
    }
}

}  // namespace

extern "C" {

// Computes the distances of all pairs of vertices in place. `distances` is int32[n][n] and holds the weights
// of the arcs on entry.
void floyd_warshall(int64_t n, int32_t* distances) { solve({n, distances, nullptr}); }

// Computes all distances and next hops in place. `next_hops` is int32[n][n]. On entry, the element [u][v] is
// v for each arc u -> v and for u = v, and -1 for all other pairs.
void floyd_warshall_paths(int64_t n, int32_t* distances, int32_t* next_hops) { solve({n, distances, next_hops}); }
}
