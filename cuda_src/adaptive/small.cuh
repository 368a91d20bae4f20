// The step RUN_LEVELS: one cluster runs levels while they are small, and one of its blocks runs levels alone
// while they are tiny.
//
// A block alone needs only __syncthreads between two levels, and keeps the whole frontier in its own queue.
// The other blocks of the cluster wait at the cluster's barrier. Meanwhile, the running block may write to
// the shared memory of a waiting block, but only words that the waiting block reads after the barrier.
// TINY_LEVELS + 1 consecutive tiny levels start a run of one block. At the start of a step, TINY_LEVELS
// tiny levels suffice. The host's LEVELS_AT_A_TIME bounds the levels of a step, and so the time that the
// blocks outside the cluster wait. The host sets TINY_LEVELS to 4, and LEVELS_AT_A_TIME to 2^20.
#pragma once

#include "arc_spread.cuh"
#include "cluster.cuh"

static_assert(TINY_LEVELS >= 1, "so that others have read what one block has left before it goes on alone again");

// Copies the frontier of the cluster into the queue of the first block, and empties the queues of the other
// blocks. Returns the number of queue entries. If there are more than `most` entries, the function copies
// nothing. All threads of the first block must call this function.
__device__ __forceinline__ unsigned gather_frontier(cluster_queues &own, unsigned level, unsigned most) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned size = lane < CLUSTER_SIZE ? *in_block(&own.sizes[level], lane) : 0;
    unsigned total;
    const unsigned before = sum_before(size, total);
    __syncthreads();
    if (total > most) return total;
    if (warp == 0 && lane < CLUSTER_SIZE) {
        *in_block(&own.sizes[level], lane) = lane == 0 ? total : 0;
        *in_block(&own.sizes[level + 2], lane) = 0;
    }
    for (unsigned r = 1 + warp; r < CLUSTER_SIZE; r += blockDim.x / 32) {
        const unsigned parts = __shfl_sync(ALL_LANES, size, r), first = __shfl_sync(ALL_LANES, before, r);
        for (unsigned i = lane; i < parts; i += 32) own.parts[level][first + i] = *in_block(&own.parts[level][i], r);
    }
    __syncthreads();
    return total;
}

// Runs levels in one block while they are tiny, and stops before level own.last. All threads of a cluster's
// first block must call this function. The function stores two results in the shared memory of all blocks of
// the cluster: `stopped` is the first level that was not run, and `left` is the number of queue entries of
// that level. If the queue was full, `left` is ~0u, so that the cluster stops.
__device__ __forceinline__ void run_tiny_levels(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                                level_record *records, int step, unsigned level) {
    const unsigned most = search.when.tiny;
    unsigned parts = gather_frontier(own, level, most);
    while (parts > 0 && parts <= most && !own.overflow[level] && level < own.last) {
        if (threadIdx.x == 0) {
            own.sizes[level + 2] = 0;
            note_level(records, level, 0, layers::block);
        }
        expand_share<lone_level>(search, bitmap, own, parts * QUAD, step, level);
        __syncthreads();
        ++level;
        parts = own.sizes[level];
    }
    const unsigned left = own.overflow[level] ? ~0u : parts;
    if (threadIdx.x < CLUSTER_SIZE) {
        *in_block(&own.stopped, threadIdx.x) = level;
        *in_block(&own.left, threadIdx.x) = left;
    }
    // The last level is recorded even without queue entries, because it may have vertices without arcs.
    if (threadIdx.x == 0 && left == 0) note_level(records, level, 0, layers::block);
}

// Counts the queue entries of a level exactly, and estimates the next level from the count. Returns whether the next
// level is likely to have more than 4 * SMALL_PARTS entries. All blocks of a cluster must call this function. The
// function is not inlined, because inlining would cost registers in all levels.
__device__ __noinline__ bool finds_too_much(const bfs &search, cluster_queues &own, unsigned level) {
    const unsigned lane = threadIdx.x % 32, size = lane < CLUSTER_SIZE ? *in_block(&own.sizes[level], lane) : 0;
    const unsigned parts = warp_sum(size), before = own.total;
    cluster_sync();  // each block has read the queue sizes of all blocks, which the next level changes
    return outgrows((float)parts, (float)before, (float)search.when.small);
}

// Runs levels in all blocks of the cluster. Stops when `pause` is not GO_ON, or when a queue
// overflows. All blocks of a cluster must call this function. Returns the first level that has not
// been expanded. To save time, the last warp of a block counts a level's queue entries while the block
// expands the level. So the cluster may expand one level that is not small. If the growth so far
// predicts a large next level, the function returns (COUNT), and finds_too_much() counts that level
// first. Each block computes `pause` from the queue sizes of all blocks, so all blocks stop together.
// Warps without arcs go straight to the barrier, because their instructions would delay other warps.
__device__ __forceinline__ unsigned run_together(const bfs &search, const cluster_bitmap &bitmap, cluster_queues &own,
                                                 level_record *records, int step, unsigned level, unsigned total) {
    const unsigned lane = threadIdx.x % 32;
    const bool counts = threadIdx.x / 32 == blockDim.x / 32 - 1;
    // Counts consecutive tiny levels. The loop below ends when the count exceeds TINY_LEVELS. At the
    // start of a step, `total` is the size of the first level. So a tiny first level counts twice:
    // here and in the loop. After finds_too_much(), `total` is the size of the previous level.
    if (threadIdx.x == blockDim.x - 1) own.tiny_levels = total <= search.when.tiny;
    do {
        const unsigned arcs = own.held(level) * QUAD;
        if (counts || threadIdx.x - lane < arcs) {
            unsigned size = 0;
            if (counts && lane < CLUSTER_SIZE) {
                if (lane == 0 && cluster_rank() == 0) note_level(records, level, 0, layers::cluster);
                size = *in_block(&own.sizes[level], lane);
            }
            if (arcs <= blockDim.x)
                expand_share<narrow_level>(search, bitmap, own, arcs, step, level);
            else
                expand_share<crowded_level>(search, bitmap, own, arcs, step, level);
            const unsigned sum = counts ? warp_sum(size) : 0;
            if (threadIdx.x == blockDim.x - 1) {
                if (own.total > 0) own.growth = __fdividef((float)sum, (float)own.total);
                own.total = sum;
                own.tiny_levels = sum <= search.when.tiny ? own.tiny_levels + 1 : 0;
                const bool small = sum > 0 && sum <= search.when.small && level + 1 < own.last;
                const bool grows = outgrows(own.growth * (float)sum, (float)sum, (float)search.when.small);
                own.pause[level + 1] = !small || own.tiny_levels > TINY_LEVELS ? DECIDE : grows ? COUNT : GO_ON;
                own.sizes[level + 2] = 0;
            }
        }
        cluster_sync();
        ++level;
    } while (!(own.pause[level] | own.overflow[level]));
    return level;
}

// Runs levels in a cluster while they are small. All blocks of one cluster must call this function. The first
// frontier is the row of `source` or, if `source` is negative, the queue in global memory. On return,
// the first block stores in result.found.sum.vertices the number of the first level that has not been expanded. The
// function writes that level's frontier to the queue in global memory, unless the level must be pulled.
__device__ __forceinline__ void run_small_levels(const bfs &search, unsigned *visited, cluster_queues &own,
                                                 level_record *records, int step, unsigned level, unsigned queued,
                                                 int source, const edge_share &share, step_result &result) {
    if (threadIdx.x < 3) own.sizes.all[threadIdx.x] = 0;
    if (threadIdx.x < 2) own.overflow.all[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        own.limit.reset(share);
        own.given.reset();
        own.spilled.reset(), own.place = 0;
        own.last = level + LEVELS_AT_A_TIME;
        own.total = 0;
        own.growth = source < 0 ? 1 : __fdividef((float)search.num_edges, (float)search.num_entered);
    }
    const cluster_bitmap bitmap = {search, visited};
    bitmap.load(source >= 0);
    unsigned total = source < 0 ? queued : 1;  // the row of the source counts as one queue entry
    bool alone = false, grows = false;
    cluster_sync();
    take_frontier(search, bitmap, own, step, level, total, source);
    cluster_sync();
    while (total > 0 && total <= search.when.small && !grows && !own.overflow[level] && level < own.last) {
        if (alone) {
            if (cluster_rank() == 0) run_tiny_levels(search, bitmap, own, records, step + 1, level);
            cluster_sync();
            level = own.stopped, total = own.left, alone = false;
            // 0 stands for an unknown size: the next level then leaves `growth` unchanged.
            if (threadIdx.x == blockDim.x - 1) own.total = 0;
        } else {
            level = run_together(search, bitmap, own, records, step + 1, level, total);
            total = own.total, alone = own.tiny_levels > TINY_LEVELS;
            if (own.pause[level] == COUNT && !own.overflow[level]) grows = finds_too_much(search, own, level);
        }
    }
    bitmap.store();
    if (total > 0) give_frontier(search, own, step + 1, level, result);
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        // The last level of the cluster has ended, so record this moment as the beginning of the next level, `level`.
        // If a later step expands `level`, that step overwrites this record.
        if (total > 0) note_level(records, level, 0, layers::cluster);
        result.found.sum.vertices = level;
    }
}
