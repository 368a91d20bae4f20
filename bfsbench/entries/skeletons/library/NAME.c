/* A search as a function of a shared library. Replace the code below the comment "search".
 *
 * bfsbench calls the function once with source -1 and without an answer, to prepare the graph. Then it calls the
 * function for each search. Offsets have `offset_bytes` bytes, 4 or 8. The function writes levels to `answer`,
 * int32[num_vertices], and -1 for vertices that are not reached. It returns 0, or another number if it failed.
 */
#include <stdint.h>
#include <stdlib.h>

static int32_t *queue;

static int64_t offset(const void *offsets, int32_t bytes, int64_t vertex) {
    return bytes == 8 ? ((const int64_t *)offsets)[vertex] : ((const int32_t *)offsets)[vertex];
}

int32_t NAME_search(int64_t num_vertices, int64_t num_edges, int32_t offset_bytes, const void *row_offsets,
                    const int32_t *column_indices, const void *column_offsets, const int32_t *row_indices,
                    int64_t source, int32_t *answer) {
    (void)num_edges, (void)column_offsets, (void)row_indices;
    if (source < 0) { /* prepare */
        queue = malloc((size_t)num_vertices * 4);
        return queue == NULL;
    }
    /* search */
    for (int64_t v = 0; v < num_vertices; v++) answer[v] = -1;
    int64_t head = 0, tail = 0;
    answer[source] = 0;
    queue[tail++] = (int32_t)source;
    while (head < tail) {
        int32_t v = queue[head++];
        int64_t end = offset(row_offsets, offset_bytes, v + 1);
        for (int64_t e = offset(row_offsets, offset_bytes, v); e < end; e++) {
            int32_t w = column_indices[e];
            if (answer[w] >= 0) continue;
            answer[w] = answer[v] + 1;
            queue[tail++] = w;
        }
    }
    return 0;
}
