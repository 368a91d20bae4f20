// Where discovered vertices are stored, and the prefix sums that give each its place (sections 5.1, 5.5 and 5.6 of
// the paper). All functions are for all threads of a warp; finish() is for all threads of a block.
#pragma once

#include "prefix_sum.cuh"
#include "search.cuh"

// Neighbours that a thread inspects at a time: their latencies then overlap.
#if WIDE_OFFSETS
#define BATCH 2  // more would not fit in registers
#else
#define BATCH 4
#endif

// The host defines LOCAL_QUEUE, the vertices that a thread collects before its warp writes them to the queue.

// Offset of the calling lane's `count` vertices among those of its warp, `total` in all. If no lane has more than
// one, a ballot is enough.
__device__ __forceinline__ int offset_in_warp(const search_context &search, const warp_lanes &warp, int count,
                                              int &total) {
    if (BINARY_PREFIX_SUM && !__any_sync(warp.mask, count > 1)) {
        if (warp.lane == 0) search.count(counted::binary_sums);
        const unsigned ones = __ballot_sync(warp.mask, count);
        total = __popc(ones);
        return __popc(ones & ((1u << warp.lane) - 1));
    }
    if (warp.lane == 0) search.count(counted::shuffle_sums);
    return exclusive_sum(warp, count, total);
}

// The same with places from the counter `size`: of a block's vertices in shared memory, or of all blocks' in global
// memory.
__device__ __forceinline__ int reserve(const warp_lanes &warp, int *size, int offset, int total) {
    int base = 0;
    if (warp.lane == 0) base = atomicAdd(size, total);
    return __shfl_sync(warp.mask, base, 0) + offset;
}

// The output of the multi-block and the child kernel. A thread gathers vertices in registers, until one of its warp
// has no room for another batch; then the warp writes them to the next level's queue. At the end all warps of a
// block write the rest together, with one global atomic.
struct local_queue {
    int entries[LOCAL_QUEUE];
    int size = 0;

    // Keep vertices[k] for every bit k of `kept`. The loop over the entries keeps their indices constant, as needed
    // for registers.
    __device__ __forceinline__ void accept(const search_context &search, const warp_lanes &warp,
                                           const int (&vertices)[BATCH], unsigned kept) {
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (!(kept >> k & 1)) continue;
#pragma unroll
            for (int i = 0; i < LOCAL_QUEUE; ++i)
                if (i == size) entries[i] = vertices[k];
            ++size;
        }
        if (!__any_sync(warp.mask, size > LOCAL_QUEUE - BATCH)) return;
        int total;
        const int offset = offset_in_warp(search, warp, size, total);
        write(search, warp, reserve(warp, search.size(search.level + 1), offset, total), offset);
        size = 0;
    }

    // The second level of the prefix sum: over the warps of the block.
    __device__ __forceinline__ void finish(const search_context &search, const warp_lanes &warp) {
        __shared__ int block_total, block_base;
        if (threadIdx.x == 0) block_total = 0;
        __syncthreads();
        int total;
        const int offset = offset_in_warp(search, warp, size, total);
        const int offset_in_block = reserve(warp, &block_total, offset, total);
        __syncthreads();
        if (threadIdx.x == 0) block_base = atomicAdd(search.size(search.level + 1), block_total);
        __syncthreads();
        write(search, warp, block_base + offset_in_block, offset);
    }

  private:
    // Write the local queues from `position` on, which is `offset` after the warp's first place. Where it pays, the
    // first `shortest` entries of all queues are interleaved: entry i of every lane, then entry i + 1.
    __device__ __forceinline__ void write(const search_context &search, const warp_lanes &warp, int position,
                                          int offset) {
        int shortest = COALESCED_WRITES ? minimum(warp, size) : 0;
        if (shortest < search.k7) shortest = 0;
        if (warp.lane == 0) search.count(counted::coalesced_writes, shortest > 0);
        search.count(counted::entries, size);
        const int first = position - offset, rest = position + (warp.lanes - 1 - warp.lane) * shortest;
        int *queue = search.queue(search.level + 1);
#pragma unroll
        for (int i = 0; i < LOCAL_QUEUE; ++i) {
            const int place = i < shortest ? first + i * warp.lanes + warp.lane : rest + i;
            if (i < size && place < search.capacity) queue[place] = entries[i];
        }
    }
};

// The output of the single-block kernel. The rows of the next frontier are read at once and kept in shared memory,
// at most `limit` of them; its expansion needs nothing else. The vertices themselves go to the queue in global
// memory, for the next kernel.
struct shared_frontier {
    static constexpr bool OF_ALL_BLOCKS = false;

    offset_t *begins;  // followed by as many degrees
    int limit;
    int *size;
    bool *has_child_row;  // set if a row is for a child kernel, by any number of threads

    __device__ __forceinline__ unsigned *degrees() const { return reinterpret_cast<unsigned *>(begins + limit); }

    __device__ __forceinline__ void put(const search_context &search, int position, const adjacency &row) {
        if (position < limit) {
            begins[position] = row.begin;
            degrees()[position] = row.degree;
        }
        if (row.degree >= search.child_degree) *has_child_row = true;  // benign race between stores: all write the same
    }

    __device__ __forceinline__ adjacency row_at(const search_context &, unsigned position) const {
        return {static_cast<edge_t>(begins[position]), degrees()[position]};
    }

    __device__ __forceinline__ void strike(unsigned position) { degrees()[position] = 0; }

    __device__ __forceinline__ void accept(const search_context &search, const warp_lanes &warp,
                                           const int (&vertices)[BATCH], unsigned kept) {
        adjacency rows[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (kept >> k & 1) rows[k] = row_of(search, vertices[k]);
        int total;
        const int offset = offset_in_warp(search, warp, __popc(kept), total);
        int position = reserve(warp, size, offset, total);
        search.count(counted::entries, __popc(kept));
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (!(kept >> k & 1)) continue;
            if (position < search.capacity) search.queue(search.level + 1)[position] = vertices[k];
            put(search, position, rows[k]);
            ++position;
        }
    }
};
