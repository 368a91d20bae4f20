/* Reads the graph, and answers the requests of bfsbench, in C, C++ and CUDA. You need not change this file. The guide is
   docs/entries.md in the repository of bfsbench. */
#ifndef ENTRY_H
#define ENTRY_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* The arcs of vertex v go to column_indices[i], for i from offset(graph, row_offsets, v) to
   offset(graph, row_offsets, v + 1) - 1. */
typedef struct {
    int64_t num_vertices, num_edges;
    int directed;
    int offset_bytes; /* 4 or 8: the size of an offset */
    const void *row_offsets, *column_offsets;
    const int32_t *column_indices, *row_indices;
} Graph;

/* Prints the reason for a failure, which bfsbench reads, and ends the program. */
static inline void fail(const char *why) {
    printf("error %s\n", why);
    exit(1);
}

/* Returns an offset of a vertex as 64 bits. `offsets` is row_offsets or column_offsets. */
static inline int64_t offset(const Graph *graph, const void *offsets, int64_t vertex) {
    return graph->offset_bytes == 8 ? ((const int64_t *)offsets)[vertex] : ((const int32_t *)offsets)[vertex];
}

/* Maps an array of `bytes` bytes into memory. Its elements begin at byte `start` of the file. Returns the address of
   the first element. */
static inline const void *map_array(const char *folder, const char *file, int64_t bytes, int64_t start) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) fail(path);
    void *all = mmap(NULL, (size_t)(start + bytes), PROT_READ, MAP_SHARED, descriptor, 0);
    if (all == MAP_FAILED) fail(path);
    return (const char *)all + start;
}

/* Returns the graph in a folder. The folder's file arrays.txt has one line for each number and each array. */
static inline Graph read_graph(const char *folder) {
    Graph graph;
    char path[4096], line[512], name[64], file[256], type[16];
    long long count, start;
    memset(&graph, 0, sizeof graph);
    snprintf(path, sizeof path, "%s/arrays.txt", folder);
    FILE *index = fopen(path, "r");
    if (!index) fail(path);
    while (fgets(line, sizeof line, index)) {
        int found = sscanf(line, "%63s %255s %15s %lld %lld", name, file, type, &count, &start);
        if (found == 2 && !strcmp(name, "num_vertices")) graph.num_vertices = atoll(file);
        if (found == 2 && !strcmp(name, "num_edges")) graph.num_edges = atoll(file);
        if (found == 2 && !strcmp(name, "directed")) graph.directed = file[0] == '1';
        if (found != 5) continue;
        int bytes = strcmp(type, "int64") ? 4 : 8;
        const void *array = map_array(folder, file, count * bytes, start);
        if (!strcmp(name, "row_offsets")) graph.row_offsets = array, graph.offset_bytes = bytes;
        if (!strcmp(name, "column_offsets")) graph.column_offsets = array;
        if (!strcmp(name, "column_indices")) graph.column_indices = (const int32_t *)array;
        if (!strcmp(name, "row_indices")) graph.row_indices = (const int32_t *)array;
    }
    fclose(index);
    return graph;
}

static inline double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Prints that the graph is prepared. Then reads sources, and calls `search` for each source. `search` fills `levels`,
 * and returns its time in ms. Writes the levels to the file `answer`, and prints the time. */
static inline int serve(const Graph *graph, const char *answer, double (*search)(int32_t source, int32_t *levels)) {
    int32_t *levels = (int32_t *)malloc((size_t)graph->num_vertices * 4);
    if (!levels) fail("not enough memory");
    puts("ready");
    fflush(stdout);
    long source;
    while (scanf("%ld", &source) == 1) {
        double took = search((int32_t)source, levels);
        FILE *file = fopen(answer, "wb");
        if (!file || fwrite(levels, 4, (size_t)graph->num_vertices, file) != (size_t)graph->num_vertices) fail(answer);
        fclose(file);
        printf("%.6f\n", took);
        fflush(stdout);
    }
    return 0;
}
#endif
