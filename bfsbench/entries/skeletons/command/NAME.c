/* A search as a program of its own. It is started as: NAME GRAPH ANSWER.
 *
 * GRAPH is a folder; the file arrays.txt in it names the arrays (see docs/entries.md). When they are ready, this
 * prints "ready". Then each line on standard input is a source: search, write int32 levels to ANSWER, -1 where
 * a vertex was not reached, and print how many milliseconds the search took. Replace the function search.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int64_t num_vertices, num_edges;
static const void *row_offsets;
static const int32_t *column_indices;
static int wide; /* whether offsets have 64 bits */

static void fail(const char *what) {
    printf("error cannot use %s\n", what);
    exit(1);
}

/* Map the elements of an array, which begin at byte `start` of a file. */
static const void *map(const char *folder, const char *file, int64_t bytes, int64_t start) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0) fail(path);
    char *all = mmap(NULL, (size_t)(start + bytes), PROT_READ, MAP_SHARED, descriptor, 0);
    if (all == MAP_FAILED) fail(path);
    return all + start;
}

static void read_graph(const char *folder) {
    char path[4096], line[512], name[64], file[256], type[16];
    long long count, start;
    snprintf(path, sizeof path, "%s/arrays.txt", folder);
    FILE *index = fopen(path, "r");
    if (!index) fail(path);
    while (fgets(line, sizeof line, index)) {
        int found = sscanf(line, "%63s %255s %15s %lld %lld", name, file, type, &count, &start);
        if (found == 2 && !strcmp(name, "num_vertices")) num_vertices = atoll(file);
        if (found == 2 && !strcmp(name, "num_edges")) num_edges = atoll(file);
        if (found != 5) continue;
        if (!strcmp(name, "row_offsets")) {
            wide = !strcmp(type, "int64");
            row_offsets = map(folder, file, count * (wide ? 8 : 4), start);
        }
        if (!strcmp(name, "column_indices")) column_indices = map(folder, file, count * 4, start);
    }
    fclose(index);
}

static int64_t offset(int64_t vertex) {
    return wide ? ((const int64_t *)row_offsets)[vertex] : ((const int32_t *)row_offsets)[vertex];
}

static void search(int32_t source, int32_t *levels, int32_t *queue) {
    for (int64_t v = 0; v < num_vertices; v++) levels[v] = -1;
    int64_t head = 0, tail = 0;
    levels[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        int32_t v = queue[head++];
        for (int64_t e = offset(v); e < offset(v + 1); e++) {
            int32_t w = column_indices[e];
            if (levels[w] >= 0) continue;
            levels[w] = levels[v] + 1;
            queue[tail++] = w;
        }
    }
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

int main(int argc, char **argv) {
    if (argc != 3) fail("these words");
    read_graph(argv[1]);
    int32_t *levels = malloc((size_t)num_vertices * 4), *queue = malloc((size_t)num_vertices * 4);
    if (!levels || !queue) fail("so much memory");
    puts("ready");
    fflush(stdout);
    long source;
    while (scanf("%ld", &source) == 1) {
        double begin = now_ms();
        search((int32_t)source, levels, queue);
        double took = now_ms() - begin;
        FILE *answer = fopen(argv[2], "wb");
        if (!answer || fwrite(levels, 4, (size_t)num_vertices, answer) != (size_t)num_vertices) fail(argv[2]);
        fclose(answer);
        printf("%.6f\n", took);
        fflush(stdout);
    }
    return 0;
}
