/* A command that answers in a way its last word names. Usage: cheat GRAPH ANSWER COUNT HOW; COUNT vertices are in
 * a line, so that the level of each is its distance from the source. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is(char **words, const char *how) { return !strcmp(words[4], how); }

static void spend(double ms) {
    struct timespec time = {0, (long)(ms * 1e6)};
    nanosleep(&time, NULL);
}

int main(int count_of_words, char **words) {
    int count = atoi(words[3]), searches = 0;
    int32_t *levels = malloc((count + 1) * sizeof *levels);
    (void)count_of_words;
    puts(is(words, "gives_up") ? "error there is no way" : "ready");
    fflush(stdout);
    long source;
    while (scanf("%ld", &source) == 1) {
        for (long v = 0; v < count + 1; v++) levels[v] = (int32_t)labs(v - source);
        if (is(words, "parents"))
            for (long v = 0; v < count; v++) levels[v] = (int32_t)(v < source ? v + 1 : v > source ? v - 1 : -7);
        if (is(words, "no_tree"))
            for (long v = 0; v < count; v++) levels[v] = (int32_t)(v == source ? v : v ^ 1);
        if (is(words, "wrong")) levels[count - 1] += 1;
        if (is(words, "huge"))
            for (;;) memset(malloc(1 << 24), 1, 1 << 24), spend(1);
        if (is(words, "crashes")) fputs("my pointer is gone\n", stderr), abort();
        if (is(words, "hangs")) pause();
        if (is(words, "leaves_child") && !fork()) sleep(60), exit(0);
        if (is(words, "hides_child") && !fork()) setsid(), sleep(60), exit(0);
        if (!is(words, "stale") || !searches++) {
            FILE *answer = fopen(words[2], "wb");
            fwrite(levels, sizeof *levels, count + is(words, "beyond"), answer);
            fclose(answer);
        }
        if (is(words, "lies_low")) spend(250);
        puts(is(words, "lies_high") ? "5000" : is(words, "negative") ? "-1" : is(words, "lies_low") ? "0.01" : is(words, "rounds") ? "0.000" : "0.0001");
        fflush(stdout);
    }
    return 0;
}
