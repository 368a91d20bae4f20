// How many cores this process may use.
#pragma once

#include <algorithm>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

namespace bfsbench {

// Those that taskset, a cpuset or a batch system leaves to the process, not all that the machine has. At least 1.
inline int available_cores() {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace bfsbench
