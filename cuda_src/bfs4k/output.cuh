// Stores the discovered vertices in the next queue. Prefix sums give each vertex its place in the queue (Busato
// and Bombieri 2014, sections 5.1, 5.5 and 5.6). All threads of a warp must call these functions together, and all
// threads of a block must call finish().
#pragma once

#include "prefix_sum.cuh"
#include "search.cuh"

// Number of neighbours that a thread inspects at a time, so that their latencies overlap. With 64-bit
// offsets, registers have room for only two neighbours at a time.
constexpr int BATCH = WIDE_OFFSETS ? 2 : 4;
// Largest number of vertices that a thread collects before its warp writes them to the queue.
constexpr int LOCAL_QUEUE = 16;

// Returns the number of vertices that lower lanes of the warp have. `count` is the number of vertices of the
// calling lane, and `total` becomes the sum over the warp. If no lane has more than one vertex, a ballot is
// enough.
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

// Reserves `total` places for a warp by adding to the counter `size`. Returns the calling lane's first place,
// which is `offset` places after the warp's first place. The counter belongs to a block (in shared memory) or
// to all blocks (in global memory).
__device__ __forceinline__ int reserve(const warp_lanes &warp, int *size, int offset, int total) {
    int base = 0;
    if (warp.lane == 0) base = atomicAdd(size, total);
    return __shfl_sync(warp.mask, base, 0) + offset;
}

// The output of the multi-block and the child kernels. A thread gathers vertices in registers. When a thread
// of the warp has no room for another batch, the warp writes all its vertices to the next queue. In finish(),
// the warps of a block reserve room for their remaining vertices with one global atomic.
struct local_queue {
    int entries[LOCAL_QUEUE];
    int size = 0;

    // Appends vertices[k] to `entries` for every bit k that is set in `kept`. An unrolled
    // loop tests every index of `entries`, because registers cannot be indexed at run time.
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

    // Writes the remaining vertices of all warps of the block to the next queue.
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
    // Writes the lane's entries to the queue. Without COALESCED_WRITES they begin at `position`, which is `offset`
    // places after the warp's first place. With COALESCED_WRITES, let `shortest` be the smallest number of entries
    // of any lane, or 0 if this number is below k7. The first `shortest` entries of all lanes are interleaved, so
    // that the warp's stores are coalesced. The lanes' other entries follow.
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

// The output of the single-block kernel. A lane reads the offsets of each new vertex's row immediately. The
// block keeps at most `limit` rows in shared memory, from which the next level expands them. The vertices
// also go to the queue in global memory, for the next launch.
struct shared_frontier {
    static constexpr bool OF_ALL_BLOCKS = false;

    offset_t *begins;  // offset of each row in column_indices; the array of the rows' degrees follows
    int limit;
    int *size;
    bool *has_child_row;  // true if a child kernel is to expand a row of this frontier

    __device__ __forceinline__ unsigned *degrees() const { return reinterpret_cast<unsigned *>(begins + limit); }

    __device__ __forceinline__ void put(const search_context &search, int position, const adjacency &row) {
        if (position < limit) {
            begins[position] = row.begin;
            degrees()[position] = row.degree;
        }
        if (row.degree >= search.child_degree) *has_child_row = true;  // benign race between stores: all store true
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
