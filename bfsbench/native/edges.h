// Functions by which graph generators return edges. When a generator knows the number of edges, it asks its caller
// for two arrays. Several threads then fill the arrays. The edges do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <new>
#include <numeric>
#include <tuple>
#include <vector>

#include "parallel.h"

namespace bfsbench {

struct Edges {
    int32_t* sources;
    int32_t* targets;
};

// The type of the caller's function that provides arrays for `count` edges. It returns non-zero if there is
// not enough memory.
using Allocate = int (*)(int64_t count, Edges* edges);

enum Status { kDone = 0, kOutOfMemory = 1 };

// Calls body() and returns its status, or kOutOfMemory if body() throws std::bad_alloc.
template <class Body>
int guarded(Body body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    }
}

// Returns the number of items that a thread takes at a time in a parallel loop over `items` items.
inline int64_t grain_of(int64_t items) { return items / 1024 + 1; }

// Generates `count` edges. draw(i) returns edge number i as a pair of vertices. Several threads call draw().
template <class Draw>
int emit_edges(int64_t count, int threads, Allocate allocate, Draw draw) {
    Edges edges;
    if (allocate(count, &edges)) return kOutOfMemory;
    parallel_blocks(count, grain_of(count), threads, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) std::tie(edges.sources[i], edges.targets[i]) = draw(i);
    });
    return kDone;
}

// Generates the edges of `rows` rows of a matrix. row(r, add) calls add(source, target) for each edge of row
// r. emit_rows calls `row` twice per row, and each call must add equal edges.
template <class Row>
int emit_rows(int64_t rows, int threads, Allocate allocate, Row row) {
    const int64_t grain = grain_of(rows);
    std::vector<int64_t> ends(rows / grain + 1, 0);
    parallel_blocks(rows, grain, threads, [&](int64_t first, int64_t last) {
        int64_t count = 0;
        for (int64_t r = first; r < last; ++r) row(r, [&](int64_t, int64_t) { ++count; });
        ends[first / grain] = count;
    });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    Edges edges;
    if (allocate(ends.back(), &edges)) return kOutOfMemory;
    parallel_blocks(rows, grain, threads, [&](int64_t first, int64_t last) {
        int64_t at = first == 0 ? 0 : ends[first / grain - 1];
        auto add = [&](int64_t source, int64_t target) {
            edges.sources[at] = static_cast<int32_t>(source);
            edges.targets[at++] = static_cast<int32_t>(target);
        };
        for (int64_t r = first; r < last; ++r) row(r, add);
    });
    return kDone;
}

}  // namespace bfsbench
