// Records of the times at which levels begin, for kernels that run several levels in one launch.
#pragma once

// One record holds the time at which a level begins, as read from the device's global timer. A kernel stores
// one record per level.
struct level_record {
    unsigned long long nanoseconds;
    int frontier_size;
    int layer;  // the index, in the variant's list `layers`, of the layer that runs the level
};

__device__ __forceinline__ unsigned long long globaltimer() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Stores a record at the beginning of a level. One thread calls the function. In timed runs `records` is
// null, so the function only tests the pointer.
__device__ __forceinline__ void note_level(level_record *records, int level, int frontier_size, int layer) {
    if (records != nullptr) records[level] = level_record{globaltimer(), frontier_size, layer};
}
