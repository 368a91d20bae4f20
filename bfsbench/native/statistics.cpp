// Components and distances of a graph taken as undirected: a sequential search along out- and in-arcs, with one bit a
// vertex so that the visited set of millions of vertices stays in cache.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "parallel.h"

extern "C" {

struct Arcs {
    int64_t num_vertices;
    const int64_t* row_offsets;
    const int32_t* column_indices;
    const int64_t* column_offsets;  // null where they equal the row offsets
    const int32_t* row_indices;
};

struct Reach {
    int64_t vertices;
    int64_t depth;    // largest distance from the start
    int32_t farthest;  // a vertex at that distance
};
}

namespace {

struct Search {
    const Arcs& arcs;
    uint64_t* visited;
    int32_t* queue;

    bool seen(int32_t v) const { return visited[v >> 6] >> (v & 63) & 1; }

    Reach run(int32_t start) const {
        int64_t head = 0, tail = 0, depth = 0;
        visit(start, tail);
        for (int64_t level_end = tail; head < tail;) {
            const int32_t u = queue[head++];
            visit_all(arcs.column_indices, arcs.row_offsets[u], arcs.row_offsets[u + 1], tail);
            if (arcs.column_offsets)
                visit_all(arcs.row_indices, arcs.column_offsets[u], arcs.column_offsets[u + 1], tail);
            if (head == level_end && head < tail) {
                level_end = tail;
                ++depth;
            }
        }
        return {tail, depth, queue[tail - 1]};
    }

private:
    void visit(int32_t v, int64_t& tail) const {
        visited[v >> 6] |= uint64_t{1} << (v & 63);
        queue[tail++] = v;
    }
    void visit_all(const int32_t* neighbours, int64_t begin, int64_t end, int64_t& tail) const {
        for (int64_t i = begin; i < end; ++i)
            if (!seen(neighbours[i])) visit(neighbours[i], tail);
    }
};

}  // namespace

extern "C" {

// Searches from `start`; `visited` holds num_vertices / 64 + 1 zeroed words, `queue` num_vertices places.
void reach(const Arcs* arcs, int32_t start, uint64_t* visited, int32_t* queue, Reach* result) {
    *result = Search{*arcs, visited, queue}.run(start);
}

// Returns the number of components, and the search of the largest from its first vertex.
int64_t components(const Arcs* arcs, uint64_t* visited, int32_t* queue, Reach* largest) {
    const Search search{*arcs, visited, queue};
    int64_t count = 0;
    *largest = {0, 0, 0};
    for (int64_t v = 0; v < arcs->num_vertices; ++v) {
        if (search.seen(static_cast<int32_t>(v))) continue;
        ++count;
        const Reach found = search.run(static_cast<int32_t>(v));
        if (found.vertices > largest->vertices) *largest = found;
    }
    return count;
}

// Self loops, and arcs equal to the one before them in their row (rows ascend).
void count_repeats(const Arcs* arcs, int64_t* self_loops, int64_t* duplicates) {
    std::atomic<int64_t> loops{0}, repeats{0};
    const int workers = bfsbench::worker_count(arcs->row_offsets[arcs->num_vertices]);
    bfsbench::parallel_blocks(arcs->num_vertices, 1 << 12, workers, [&](int64_t begin, int64_t end) {
        int64_t loops_here = 0, repeats_here = 0;
        for (int64_t row = begin; row < end; ++row)
            for (int64_t i = arcs->row_offsets[row]; i < arcs->row_offsets[row + 1]; ++i) {
                const int32_t column = arcs->column_indices[i];
                loops_here += column == row;
                repeats_here += i > arcs->row_offsets[row] && column == arcs->column_indices[i - 1];
            }
        loops += loops_here;
        repeats += repeats_here;
    });
    *self_loops = loops;
    *duplicates = repeats;
}
}
