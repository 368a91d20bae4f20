// Levels run by one cluster while they are small.
#pragma once

#include "adaptive_cluster.cuh"

#define LAYER_CLUSTER 0

// Run levels from this one on while they are small: for all blocks of one cluster. They begin in the first step with the
// source, later with the queue in global memory. Leaves in state->level the first level that has not been expanded, and
// its frontier in global memory, unless that is to be pulled. It may be the level it began with, if it does not fit.
__device__ __forceinline__ void run_small_levels(const search &search, unsigned *visited, cluster_queues &own,
                                                 level_record *records, int step, unsigned level, unsigned queued,
                                                 int source, unsigned small, unsigned most_edges) {
    const unsigned last = level + LEVELS_AT_A_TIME;
    if (threadIdx.x < 3) own.sizes[threadIdx.x] = 0;
    if (threadIdx.x < 2) own.overflow[threadIdx.x] = 0;
    if (threadIdx.x == 0) own.limit.reset(most_edges), own.given.reset();
    cluster_sync();
    if (step > 0)
        take_frontier(search, own, step, level, queued);
    else if (cluster_rank() == 0 && threadIdx.x < 32)
        take_source(search, visited, own, step, source);
    cluster_sync();
    unsigned total = 1;
    while (total > 0 && total <= small && !own.overflow[level % 2] && level < last) {
        // For the decision after this level: it comes late, but free.
        const unsigned lane = threadIdx.x % 32;
        const bool counts = threadIdx.x / 32 == blockDim.x / 32 - 1;
        unsigned sum = counts && lane < CLUSTER_SIZE ? *in_block(&own.sizes[level % 3], lane) : 0;
        const bool wrote = own.held(level) * QUAD <= blockDim.x
                                     ? expand_share<1, false>(search, visited, own, step + 1, level)
                                     : expand_share<2, true>(search, visited, own, step + 1, level);
        if (counts) {
            sum = warp_sum(sum);
            if (lane == 0) own.total[level % 2] = sum;
            if (lane == 1) own.sizes[(level + 2) % 3] = 0;
            if (lane == 2 && cluster_rank() == 0) note_level(records, level, 0, LAYER_CLUSTER);
        }
        cluster_meet(wrote || counts);
        total = own.total[level % 2];  // of the level just expanded, so a frontier may exceed `small` by one level
        ++level;
    }
    if (total > 0) give_frontier(search, own, step + 1, level);
    if (cluster_rank() == 0 && threadIdx.x == 0) search.state->level = level;
}
