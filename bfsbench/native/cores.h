// Counts the processor cores that this process may use.
#pragma once

#include <algorithm>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

namespace bfsbench {

// Returns the number of processor cores that this process may use, at least 1. The tool taskset, a cpuset or
// a batch system can allow fewer cores than the machine has.
inline int available_cores() {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace bfsbench
