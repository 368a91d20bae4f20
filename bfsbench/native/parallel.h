// Loops that several threads share, on the cores that this process may use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "cores.h"

namespace bfsbench {

// Returns how many threads pay off for a loop over `items` items that take a few nanoseconds each.
inline int worker_count(int64_t items) {
    return static_cast<int>(std::clamp<int64_t>(items / (1 << 15), 1, available_cores()));
}

template <class Body>
void run_workers(int workers, Body body) {
    std::vector<std::thread> threads;
    for (int worker = 1; worker < workers; ++worker) threads.emplace_back(body, worker);
    body(0);
    for (auto& thread : threads) thread.join();
}

// Calls body(worker, begin, end) once per thread. Each thread gets one contiguous slice of the items, in
// order of the threads.
template <class Body>
void parallel_slices(int64_t items, int workers, Body body) {
    run_workers(workers, [=](int worker) {
        body(worker, items * worker / workers, items * (worker + 1) / workers);
    });
}

// Calls body(begin, end) on blocks of `grain` items. A thread that becomes free takes the next block.
template <class Body>
void parallel_blocks(int64_t items, int64_t grain, int workers, Body body) {
    std::atomic<int64_t> next{0};
    run_workers(workers, [&](int) {
        for (;;) {
            const int64_t begin = next.fetch_add(grain);
            if (begin >= items) return;
            body(begin, std::min(begin + grain, items));
        }
    });
}

}  // namespace bfsbench
