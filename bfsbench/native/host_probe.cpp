// host_probe: reads memory, so that `bfsbench probe` can measure how fast the processor's cores read it.
#include <cstdint>
#include <vector>

#include "parallel.h"

// Returns the sum of `count` numbers. Each of `threads` threads reads one part of the array, in order.
extern "C" uint64_t sum_numbers(const uint64_t *numbers, int64_t count, int32_t threads) {
    std::vector<uint64_t> sums(threads);
    bfsbench::parallel_slices(count, threads, [&](int thread, int64_t begin, int64_t end) {
        uint64_t sum = 0;
        for (int64_t i = begin; i < end; ++i) sum += numbers[i];
        sums[thread] = sum;
    });
    uint64_t all = 0;
    for (const uint64_t sum : sums) all += sum;
    return all;
}
