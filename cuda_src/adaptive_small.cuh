// Levels run by one cluster: while frontiers are small, or to the end if the graph is.
//
// Small graphs. The blocks of the cluster each keep the bitmap of reached vertices in shared memory while they pull. A
// level then takes less time than all blocks of the device need to meet, and no block has to be waited for but those of
// the cluster; so a level that is too large to be pushed is pulled here, and nothing is handed on.
#pragma once

#include "adaptive_cluster.cuh"

#define LAYER_CLUSTER 0
#define LAYER_CLUSTER_PULL 3

// The bitmap of reached vertices, or the one that is to replace it after a pulled level: in shared memory.
__device__ __forceinline__ unsigned *shared_bitmap(unsigned which, unsigned words) {
    extern __shared__ unsigned cluster_bitmaps[];
    return cluster_bitmaps + which % 2 * words;
}

typedef share_of<CLUSTER_SIZE> cluster_share;

// Before a barrier of the cluster: for all threads of each block.
__device__ __forceinline__ void empty_queues(cluster_queues &own) {
    if (threadIdx.x < 3) own.sizes[threadIdx.x] = 0;
    if (threadIdx.x < 2) own.overflow[threadIdx.x] = 0;
}

// Find the vertices of the next level, for all blocks of the cluster. Returns, to all threads, what all have found.
__device__ __forceinline__ tally pull_in_cluster(const search &search, unsigned *visited, cluster_queues &own,
                                                 unsigned which, unsigned level) {
    const unsigned words = search.words(), lane = threadIdx.x % 32;
    const unsigned *const reached = shared_bitmap(which, words);
    const cluster_share mine = {0, cluster_share::own(words)};
    tally found = {0, 0};
    if (threadIdx.x == 0) own.lists.found.reset();
    pull_share(search, reached, own.lists, mine, level, found);
    own.lists.found.add(found);
    for (unsigned k = threadIdx.x / 32; k < mine.words; k += blockDim.x / 32) {
        const unsigned w = mine.word(k), now = reached[w] | own.lists.fresh[k];
        if (lane < CLUSTER_SIZE) *in_block(shared_bitmap(which + 1, words) + w, lane) = now;
        if (lane == 0) visited[w] = now;
    }
    empty_queues(own);
    __syncthreads();
    if (threadIdx.x == 0) own.pulled[level % 2] = own.lists.found.sum;
    cluster_sync();
    const tally its = lane < CLUSTER_SIZE ? *in_block(&own.pulled[level % 2], lane) : tally{0, 0};
    return tally{warp_sum(its.edges), warp_sum(its.vertices)};
}

// Queue the vertices of a level that has been pulled, in empty queues: for all blocks of the cluster.
__device__ __forceinline__ void queue_pulled(const search &search, cluster_queues &own, unsigned which, int step,
                                             unsigned level) {
    const unsigned words = search.words(), lane = threadIdx.x % 32;
    const unsigned *const reached = shared_bitmap(which, words), *const before = shared_bitmap(which + 1, words);
    const cluster_share mine = {0, cluster_share::own(words)};
    for (unsigned k = threadIdx.x / 32; k < mine.words; k += blockDim.x / 32) {
        const unsigned w = mine.word(k), fresh = reached[w] & ~before[w];
        if (fresh == 0) continue;
        short_row row[1] = {{0, 0}};
        if (fresh >> lane & 1) row[0] = search.row_of<short_row>(w * 32 + lane);
        const unsigned target[1] = {(k + lane) % CLUSTER_SIZE};
        queue_rows(search, own, row, target, 0, step, level);
    }
    cluster_sync();
}

// Where levels have ended that were pulled: the first that was not, and how many parts it has in the queues.
struct pulled_levels {
    unsigned level, parts;
};

// Pull levels from this one on, before the last, until one is small again: for all blocks of the cluster.
__device__ __forceinline__ pulled_levels pull_small_levels(const search &search, unsigned *visited, cluster_queues &own,
                                                        level_record *records, int step, unsigned level,
                                                        unsigned last, unsigned small) {
    for (unsigned w = threadIdx.x; w < search.words(); w += blockDim.x) shared_bitmap(0, 0)[w] = __ldcg(&visited[w]);
    cluster_sync();  // before another block adds to it
    for (unsigned which = 0;; ++which) {
        if (cluster_rank() == 0 && threadIdx.x == 0) note_level(records, level, 0, LAYER_CLUSTER_PULL);
        const tally found = pull_in_cluster(search, visited, own, which, level++);
        const unsigned long long parts = found.vertices + found.edges / QUAD;  // or less
        if (found.vertices == 0) return {level, 0};
        if (level == last) return {level, 1};
        if (parts > small) continue;
        queue_pulled(search, own, which + 1, step, level);
        if (!own.overflow[level % 2]) return {level, (unsigned)parts};
    }
}

// Run levels from this one on while they are small, or if the graph is (`whole`) to the end: for all blocks of one
// cluster. They begin in the first step with the source, later with the queue in global memory. Leaves in state->level
// the first level that has not been expanded, and its frontier in global memory, unless that is to be pulled. It may be
// the level it began with, if it does not fit.
__device__ __forceinline__ void run_small_levels(const search &search, unsigned *visited, cluster_queues &own,
                                                 level_record *records, int step, unsigned level, unsigned queued,
                                                 int source, unsigned small, bool whole, unsigned most_edges) {
    const unsigned last = level + LEVELS_AT_A_TIME;
    empty_queues(own);
    if (threadIdx.x == 0) {
        own.limit.reset(most_edges);
        if (whole) own.limit.passed = 1;  // what does not fit will be pulled
        own.given.reset();
    }
    cluster_sync();
    if (step > 0)
        take_frontier(search, own, step, level, queued);
    else if (cluster_rank() == 0 && threadIdx.x < 32)
        take_source(search, visited, own, step, source);
    cluster_sync();
    unsigned total = 1;
    while (total > 0 && level < last) {
        if (total > small || own.overflow[level % 2]) {
            if (!whole) break;
            const pulled_levels after = pull_small_levels(search, visited, own, records, step + 1, level, last, small);
            level = after.level, total = after.parts;
            continue;
        }
        // For the decision after this level: it comes late, but free.
        const unsigned lane = threadIdx.x % 32;
        const bool counts = threadIdx.x / 32 == blockDim.x / 32 - 1;
        unsigned sum = counts && lane < CLUSTER_SIZE ? *in_block(&own.sizes[level % 3], lane) : 0;
        const unsigned answers = own.held(level) * QUAD <= blockDim.x
                                     ? expand_share<1, false>(search, visited, own, step + 1, level)
                                     : expand_share<2, true>(search, visited, own, step + 1, level);
        if (counts) {
            sum = warp_sum(sum);
            if (lane == 0) own.total[level % 2] = sum;
            if (lane == 1) own.sizes[(level + 2) % 3] = 0;
            if (lane == 2 && cluster_rank() == 0) note_level(records, level, 0, LAYER_CLUSTER);
            __threadfence_block();
        }
        cluster_meet(answers);
        total = own.total[level % 2];  // of the level just expanded, so a frontier may exceed `small` by one level
        ++level;
    }
    if (total > 0) give_frontier(search, own, step + 1, level);
    if (cluster_rank() == 0 && threadIdx.x == 0) search.state->level = level;
}
