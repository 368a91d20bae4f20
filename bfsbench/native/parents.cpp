// parents: computes the parent of each vertex in a breadth-first tree from the levels of a finished search,
// on all cores. cuda_src/parents.cu computes parents on a GPU.
#include <cstdint>

#include "parallel.h"

namespace {

constexpr int32_t NO_PARENT = -1;
constexpr int64_t GRAIN = 1 << 13;

template <class Offset>
int32_t parent_of(int32_t v, const Offset *column_offsets, const int32_t *row_indices, const int32_t *levels) {
    if (levels[v] == 0) return v;
    if (levels[v] < 0) return NO_PARENT;
    for (Offset e = column_offsets[v]; e < column_offsets[v + 1]; ++e)
        if (levels[row_indices[e]] == levels[v] - 1) return row_indices[e];
    return NO_PARENT;
}

template <class Offset>
void find_parents(int64_t num_vertices, const Offset *column_offsets, const int32_t *row_indices,
                  const int32_t *levels, int32_t *parents) {
    const int workers = bfsbench::worker_count(num_vertices);
    bfsbench::parallel_blocks(num_vertices, GRAIN, workers, [=](int64_t begin, int64_t end) {
        for (int64_t v = begin; v < end; ++v)
            parents[v] = parent_of(static_cast<int32_t>(v), column_offsets, row_indices, levels);
    });
}

}  // namespace

extern "C" {

// Stores the parent of each vertex, or -1 for an unreached vertex. The source is its own parent. `levels` and
// `parents` are int32[V].
void parents_32(int64_t num_vertices, const int32_t *column_offsets, const int32_t *row_indices,
                const int32_t *levels, int32_t *parents) {
    find_parents(num_vertices, column_offsets, row_indices, levels, parents);
}

void parents_64(int64_t num_vertices, const int64_t *column_offsets, const int32_t *row_indices,
                const int32_t *levels, int32_t *parents) {
    find_parents(num_vertices, column_offsets, row_indices, levels, parents);
}
}
