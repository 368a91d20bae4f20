/* Functions of a library, each of which answers in another way; vertices are in a line. */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define PARAMETERS                                                                                        \
    int64_t count, int64_t edges, int32_t bytes, const void *rows, const int32_t *columns, const void *row, \
        const int32_t *column, int64_t source, int32_t *answer

static int32_t fill(PARAMETERS) {
    (void)edges, (void)bytes, (void)rows, (void)columns, (void)row, (void)column;
    if (source < 0) return 0;
    for (int64_t v = 0; v < count; v++) answer[v] = (int32_t)llabs(v - source);
    return 0;
}

#define FILLED fill(count, edges, bytes, rows, columns, row, column, source, answer)

int32_t honest(PARAMETERS) { return FILLED; }

int32_t wrong(PARAMETERS) {
    FILLED;
    if (source >= 0) answer[count - 1] += 1;
    return 0;
}

int32_t stale(PARAMETERS) {
    static int searches;
    return source >= 0 && searches++ ? 0 : FILLED;
}

int32_t past_end(PARAMETERS) {
    FILLED;
    if (source >= 0) answer[count] = 1;
    return 0;
}

int32_t before_begin(PARAMETERS) {
    FILLED;
    if (source >= 0) answer[-1] = 1;
    return 0;
}

int32_t leaves_child(PARAMETERS) {
    if (source >= 0 && !fork()) sleep(60), _exit(0);
    return FILLED;
}

int32_t crashes(PARAMETERS) {
    FILLED;
    return source >= 0 ? *(volatile int32_t *)8 : 0;
}

int32_t hangs(PARAMETERS) {
    if (source >= 0) pause();
    return FILLED;
}

int32_t fails(PARAMETERS) { return source >= 0 ? 7 : FILLED; }
