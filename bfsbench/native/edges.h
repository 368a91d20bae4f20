// How generators hand over edges: the caller provides two arrays once their number is known, and they are filled by
// several threads. The result does not depend on how many.
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

// Provides room for `count` edges; non-zero when there is none.
using Allocate = int (*)(int64_t count, Edges* edges);

enum Status { kDone = 0, kOutOfMemory = 1 };

// The status of body(), which may run out of memory.
template <class Body>
int guarded(Body body) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    }
}

// Items drawn at a time by one worker.
inline int64_t grain_of(int64_t items) { return items / 1024 + 1; }

// Edge i is draw(i), a pair of vertices.
template <class Draw>
int emit_edges(int64_t count, int threads, Allocate allocate, Draw draw) {
    Edges edges;
    if (allocate(count, &edges)) return kOutOfMemory;
    parallel_blocks(count, grain_of(count), threads, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) std::tie(edges.sources[i], edges.targets[i]) = draw(i);
    });
    return kDone;
}

// The edges of row r are those that row(r, add) passes to add(source, target); it must do the same each time.
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
