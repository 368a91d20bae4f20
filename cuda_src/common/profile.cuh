// Records of levels, for kernels that run several levels in one launch.
#pragma once

// A record of the moment when a level begins. The time comes from the device's global timer.
struct level_record {
    unsigned long long nanoseconds;
    int frontier_size;
    int layer;  // the index of the layer that runs the level, among the variant's `layers`
};

__device__ __forceinline__ unsigned long long globaltimer() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Note the beginning of a level. One thread calls it. In timed runs `records` is null, so the function only
// tests the pointer.
__device__ __forceinline__ void note_level(level_record *records, int level, int frontier_size, int layer) {
    if (records != nullptr) records[level] = level_record{globaltimer(), frontier_size, layer};
}
