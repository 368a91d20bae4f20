// Runs cpu_parallel under ThreadSanitizer. The standard input holds graphs and settings as int32 words: vertices, arcs,
// threads, sequential limit, alpha, source, row offsets, columns, column offsets, rows, the levels expected.
// Exits with 1 if levels are wrong; ThreadSanitizer exits with its own code if it finds a race.
#include "cpu_parallel.cpp"

#include <cstdio>

int main() {
    int32_t head[6];
    while (std::fread(head, sizeof head, 1, stdin) == 1) {
        const size_t n = head[0], m = head[1];
        std::vector<int32_t> words(3 * n + 2 + 2 * m), levels(n);
        if (std::fread(words.data(), 4, words.size(), stdin) != words.size()) return 2;
        const int32_t* const rows = words.data();
        const int32_t* const columns = rows + n + 1 + m;
        const auto* const heads = reinterpret_cast<const uint32_t*>(rows + n + 1);
        const auto* const tails = reinterpret_cast<const uint32_t*>(columns + n + 1);
        const double alpha = head[4];
        const ParallelArguments arguments{head[0], rows, heads, columns, tails, head[2], head[3], alpha, nullptr};
        Search* search = parallel_create(&arguments, 4);
        if (!search) return 2;
        for (int repeat = 0; repeat < 3; ++repeat) {
            parallel_run(search, head[5], levels.data());
            if (!std::equal(levels.begin(), levels.end(), words.end() - n)) return 1;
        }
        parallel_destroy(search);
    }
}
