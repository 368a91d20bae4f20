// cpu_queue: sequential breadth-first search with a FIFO queue (Springer, "Breadth-first Search in CUDA",
// Algorithm 1). The queue is an array that holds every reached vertex once, in order of discovery. It has
// num_vertices elements, so it needs no test for overflow.
#include <cstdint>

namespace {

template <class Offset>
int32_t search(const Offset *row_offsets, const int32_t *column_indices, int32_t source, int32_t *levels,
               int32_t *queue) {
    int32_t head = 0, tail = 0;
    levels[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        const int32_t v = queue[head++];
        const int32_t next = levels[v] + 1;
        for (Offset e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int32_t neighbour = column_indices[e];
            if (levels[neighbour] < 0) {
                levels[neighbour] = next;
                queue[tail++] = neighbour;
            }
        }
    }
    return tail;
}

}  // namespace

extern "C" {

// Searches from the vertex `source`. Returns the number n of reached vertices. `queue` is int32[V], and its
// first n elements are these vertices. `levels` is int32[V] and holds -1 on entry for every vertex that the
// source reaches.
int32_t cpu_queue_32(const int32_t *row_offsets, const int32_t *column_indices, int32_t source, int32_t *levels,
                     int32_t *queue) {
    return search(row_offsets, column_indices, source, levels, queue);
}

int32_t cpu_queue_64(const int64_t *row_offsets, const int32_t *column_indices, int32_t source, int32_t *levels,
                     int32_t *queue) {
    return search(row_offsets, column_indices, source, levels, queue);
}
}
