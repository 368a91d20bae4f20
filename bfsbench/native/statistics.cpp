// Computes the components and the distances of a graph. All arcs count as undirected.
//
// A search runs level by level. It pushes small levels: it visits the neighbours of each vertex in the queue.
// The rows of these vertices lie anywhere in memory, so the search prefetches rows. The search pulls large
// levels on all cores: each unseen vertex looks for a neighbour in the level, and stops when it has found a
// neighbour. Pulling reads rows in order and skips most arcs (Beamer, Asanovic and Patterson,
// "Direction-optimizing breadth-first search", 2012).
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "parallel.h"

extern "C" {

struct Arcs {
    int64_t num_vertices;
    const int64_t* row_offsets;
    const int32_t* column_indices;
    const int64_t* column_offsets;  // null if the graph is symmetric
    const int32_t* row_indices;
};

// Scratch memory of a search. Each bitmap has num_vertices / 64 + 1 words, and the queue has num_vertices
// entries.
struct Scratch {
    uint64_t* seen;
    uint64_t* level;
    uint64_t* fresh;
    int32_t* queue;
};

struct Reach {
    int64_t vertices;
    int64_t depth;     // largest distance from the start vertex
    int32_t farthest;  // a vertex at this largest distance
};
}

namespace {

// The search pulls a level that has more than 1 / kPullShare of the vertices.
constexpr int64_t kPullShare = 16;
constexpr int64_t kAhead = 8;

inline bool has(const uint64_t* bits, int64_t v) { return bits[v >> 6] >> (v & 63) & 1; }
inline void set(uint64_t* bits, int64_t v) { bits[v >> 6] |= uint64_t{1} << (v & 63); }

struct Search {
    const Arcs& arcs;
    const Scratch& scratch;

    Reach run(int32_t start) const {
        scratch.queue[0] = start;
        set(scratch.seen, start);
        int64_t begin = 0, end = 1, depth = 0;
        for (;;) {
            const bool large = (end - begin) * kPullShare > arcs.num_vertices;
            const int64_t next = large ? pull(begin, end) : push(begin, end);
            if (next == end) return {end, depth, scratch.queue[end - 1]};
            begin = end;
            end = next;
            ++depth;
        }
    }

private:
    // Expands a level, whose vertices are the entries begin .. end - 1 of the queue. push() and pull() append
    // the next level to the queue and return the queue's new end.
    int64_t push(int64_t begin, int64_t end) const {
        int64_t tail = end;
        for (int64_t head = begin; head < end; ++head) {
            if (head + 2 * kAhead < end) fetch_offsets(scratch.queue[head + 2 * kAhead]);
            if (head + kAhead < end) fetch_rows(scratch.queue[head + kAhead]);
            const int32_t u = scratch.queue[head];
            tail = visit(arcs.column_indices, arcs.row_offsets[u], arcs.row_offsets[u + 1], tail);
            if (arcs.column_offsets)
                tail = visit(arcs.row_indices, arcs.column_offsets[u], arcs.column_offsets[u + 1], tail);
        }
        return tail;
    }

    int64_t pull(int64_t begin, int64_t end) const {
        const int64_t words = arcs.num_vertices / 64 + 1;
        std::fill(scratch.level, scratch.level + words, 0);
        for (int64_t i = begin; i < end; ++i) set(scratch.level, scratch.queue[i]);
        const int workers = bfsbench::worker_count(arcs.num_vertices);
        bfsbench::parallel_blocks(words, 1 << 8, workers, [this](int64_t w, int64_t last) {
            for (; w < last; ++w) scratch.fresh[w] = touched(w);
        });
        for (int64_t w = 0; w < words; ++w) {
            scratch.seen[w] |= scratch.fresh[w];
            for (uint64_t rest = scratch.fresh[w]; rest; rest &= rest - 1)
                scratch.queue[end++] = static_cast<int32_t>(w * 64 + __builtin_ctzll(rest));
        }
        return end;
    }

    // Returns a bit for each of the 64 vertices of bitmap word w. The bit is set if the vertex has not been
    // seen and has a neighbour in the level.
    uint64_t touched(int64_t w) const {
        uint64_t found = 0;
        for (uint64_t rest = ~scratch.seen[w]; rest; rest &= rest - 1) {
            const int64_t v = w * 64 + __builtin_ctzll(rest);
            if (v >= arcs.num_vertices) break;
            if (meets(arcs.column_indices, arcs.row_offsets[v], arcs.row_offsets[v + 1]) ||
                (arcs.column_offsets && meets(arcs.row_indices, arcs.column_offsets[v], arcs.column_offsets[v + 1])))
                found |= rest & -rest;
        }
        return found;
    }

    bool meets(const int32_t* neighbours, int64_t begin, int64_t end) const {
        return std::any_of(neighbours + begin, neighbours + end, [this](int32_t v) { return has(scratch.level, v); });
    }

    int64_t visit(const int32_t* neighbours, int64_t begin, int64_t end, int64_t tail) const {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t v = neighbours[i];
            if (has(scratch.seen, v)) continue;
            set(scratch.seen, v);
            scratch.queue[tail++] = v;
        }
        return tail;
    }

    void fetch_offsets(int32_t u) const {
        __builtin_prefetch(&arcs.row_offsets[u]);
        if (arcs.column_offsets) __builtin_prefetch(&arcs.column_offsets[u]);
    }

    void fetch_rows(int32_t u) const {
        __builtin_prefetch(&arcs.column_indices[arcs.row_offsets[u]]);
        if (arcs.column_offsets) __builtin_prefetch(&arcs.row_indices[arcs.column_offsets[u]]);
    }
};

}  // namespace

extern "C" {

// Searches from the vertex `start` and stores the result in *result. All words of scratch->seen must be 0 on entry.
void reach(const Arcs* arcs, const Scratch* scratch, int32_t start, Reach* result) {
    *result = Search{*arcs, *scratch}.run(start);
}

// Searches each component from its first vertex. Returns the number of components, and stores the result for
// the largest component in *largest. All words of scratch->seen must be 0 on entry.
int64_t components(const Arcs* arcs, const Scratch* scratch, Reach* largest) {
    const Search search{*arcs, *scratch};
    int64_t count = 0;
    *largest = {0, 0, 0};
    for (int64_t v = 0; v < arcs->num_vertices; ++v) {
        if (has(scratch->seen, v)) continue;
        ++count;
        const Reach found = search.run(static_cast<int32_t>(v));
        if (found.vertices > largest->vertices) *largest = found;
    }
    return count;
}

// Counts self loops and repeated arcs. The columns of each row must ascend.
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
