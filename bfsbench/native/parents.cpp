// parents: computes the parent of each vertex in a breadth-first tree from the levels of a finished search.
// Also checks the arcs of a graph against a tree. Both tasks use several threads if the graph is large. On a
// GPU, cuda_src/parents.cu and cuda_src/tree_check.cu do this work.
#include <atomic>
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

// Lowers `least` to `value` if `least` is larger.
void lower(std::atomic<int64_t> &least, int64_t value) {
    for (int64_t now = least; value < now && !least.compare_exchange_weak(now, value);) {}
}

// Implements first_wrong_arc_32 and first_wrong_arc_64. Only arcs from the parent of v to v set joined[v],
// and a single thread reads all arcs that leave a vertex. So no two threads write the same element of
// `joined`.
template <class Offset>
int64_t first_wrong_arc(int64_t num_vertices, const Offset *row_offsets, const int32_t *column_indices,
                        const int32_t *levels, const int32_t *parents, uint8_t *joined) {
    const int64_t num_arcs = row_offsets[num_vertices];
    std::atomic<int64_t> wrong{num_arcs};
    const int workers = bfsbench::worker_count(num_vertices);
    bfsbench::parallel_blocks(num_vertices, GRAIN, workers, [=, &wrong](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; ++u) {
            if (parents[u] == NO_PARENT) continue;
            for (Offset e = row_offsets[u]; e < row_offsets[u + 1]; ++e) {
                const int32_t v = column_indices[e];
                if (parents[v] == NO_PARENT || levels[v] > levels[u] + 1) lower(wrong, e);
                if (parents[v] == u) joined[v] = 1;
            }
        }
    });
    return wrong < num_arcs ? wrong.load() : -1;
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

// Returns the index of the first arc that contradicts a breadth-first tree, or -1 if there is none. The tail
// of such an arc is in the tree, and its head is outside of the tree or more than one level deeper than the
// tail. Sets joined[v] to 1 if an arc leads to v from its parent. `levels` and `parents` are int32[V], and
// `joined` is uint8[V]. A vertex outside of the tree has the parent -1.
int64_t first_wrong_arc_32(int64_t num_vertices, const int32_t *row_offsets, const int32_t *column_indices,
                           const int32_t *levels, const int32_t *parents, uint8_t *joined) {
    return first_wrong_arc(num_vertices, row_offsets, column_indices, levels, parents, joined);
}

int64_t first_wrong_arc_64(int64_t num_vertices, const int64_t *row_offsets, const int32_t *column_indices,
                           const int32_t *levels, const int32_t *parents, uint8_t *joined) {
    return first_wrong_arc(num_vertices, row_offsets, column_indices, levels, parents, joined);
}
}
