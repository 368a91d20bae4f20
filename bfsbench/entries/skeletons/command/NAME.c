/* A search as a separate program. bfsbench starts it as: NAME GRAPH ANSWER. Replace the body of `search`. */
#define _POSIX_C_SOURCE 200809L
#include "entry.h"

static Graph graph;
static int32_t *queue;

/* Writes the level of each vertex to `levels`, int32[num_vertices], or -1 if the vertex is not reached. Returns the time
 * of the search in ms. */
static double search(int32_t source, int32_t *levels) {
    double begin = now_ms();
    for (int64_t v = 0; v < graph.num_vertices; v++) levels[v] = -1;
    int64_t head = 0, tail = 0;
    levels[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        int32_t v = queue[head++];
        for (int64_t e = offset(&graph, graph.row_offsets, v); e < offset(&graph, graph.row_offsets, v + 1); e++) {
            int32_t w = graph.column_indices[e];
            if (levels[w] >= 0) continue;
            levels[w] = levels[v] + 1;
            queue[tail++] = w;
        }
    }
    return now_ms() - begin;
}

int main(int argc, char **argv) {
    if (argc != 3) fail("two arguments are wanted: GRAPH ANSWER");
    graph = read_graph(argv[1]);
    queue = (int32_t *)malloc((size_t)graph.num_vertices * 4);
    if (!queue) fail("not enough memory");
    return serve(&graph, argv[2], search);
}
