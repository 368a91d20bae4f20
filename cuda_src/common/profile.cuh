// Records of levels, by kernels that run several of them in one launch.
#pragma once

// The record made when a level begins. The time is that of the device's global timer.
struct level_record {
    unsigned long long nanoseconds;
    int frontier_size;
    int layer;  // the layer that runs the level; the variant names them
};

__device__ __forceinline__ unsigned long long globaltimer() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// To be called by one thread. Timed runs pass a null pointer and only test it.
__device__ __forceinline__ void note_level(level_record *records, int level, int frontier_size, int layer) {
    if (records != nullptr) records[level] = level_record{globaltimer(), frontier_size, layer};
}
