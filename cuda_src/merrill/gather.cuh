// Reads many adjacency lists cooperatively (Merrill, Garland and Grimshaw 2012). Each thread of a block has one
// list to read, and all threads of the block share the work evenly.
//
// - The whole block reads lists with at least as many neighbours as the block has threads, one list after
// another.
// - A warp reads the lists of its own threads that have at least WARP neighbours.
// - A prefix sum concatenates all shorter lists. Threads store the indices of their neighbours in shared
// memory. Then each thread reads the neighbours at some of these indices.
//
// The caller passes an object, the sink, which receives the neighbours. It has two functions:
//
// - unsigned long long reserve(edge_t count) reserves room for `count` neighbours. One thread may call it for
// several threads.
// - void put(unsigned long long place, unsigned stride, int (&neighbours)[BATCH]) stores neighbour k at place
// + k * stride, unless it is NONE. Any thread may call it at any time.
//
// The size of a block need not be a multiple of the warp size: the last warp works with the threads that it
// has.
#pragma once

#include "graph.cuh"
#include "prefix_sum.cuh"

constexpr int BATCH = 4;  // number of neighbours that a thread loads at once, so that their latencies overlap
constexpr int NONE = -1;  // stands for no neighbour

// Reads an adjacency list with `width` threads, and passes its neighbours to the sink, an object of the caller
// that stores neighbours. The calling thread has the index `rank` among these threads. The sink stores the first
// neighbour of the list at `place`.
template <typename Sink>
__device__ __forceinline__ void read_list(const int *column_indices, edge_t begin, edge_t end, unsigned rank,
                                          unsigned width, unsigned long long place, Sink &sink) {
    for (edge_t e = begin + rank; e < end; e += BATCH * width) {
        int neighbours[BATCH];
#pragma unroll
        for (unsigned k = 0; k < BATCH; ++k)
            neighbours[k] = e + k * width < end ? __ldg(&column_indices[e + k * width]) : NONE;
        sink.put(place + (e - begin), width, neighbours);
    }
}

// Reads long lists with the whole block. In each round, all threads that have a long list store their thread
// number in one shared word. The block then reads the list of the thread whose number remains in the word.
template <typename Sink>
__device__ __forceinline__ void gather_by_block(const int *column_indices, edge_t &begin, edge_t end, Sink &sink) {
    __shared__ unsigned winner;
    __shared__ edge_t list_begin, list_end;
    __shared__ unsigned long long place;
    while (__syncthreads_or(end - begin >= blockDim.x)) {
        if (end - begin >= blockDim.x) winner = threadIdx.x;  // benign race between stores: any store wins
        __syncthreads();
        if (winner == threadIdx.x) {
            list_begin = begin;
            list_end = end;
            place = sink.reserve(end - begin);
            begin = end;
        }
        __syncthreads();
        read_list(column_indices, list_begin, list_end, threadIdx.x, blockDim.x, place, sink);
    }
}

template <typename Sink>
__device__ __forceinline__ void gather_by_warp(const int *column_indices, edge_t &begin, edge_t end, Sink &sink) {
    const warp_lanes warp = this_warp();
    const bool mine = end - begin >= WARP;
    unsigned waiting = __ballot_sync(warp.mask, mine);
    if (waiting == 0) return;
    // gather_by_block has read all lists with at least as many entries as the block has threads. So the length of
    // this list fits an int.
    const int length = mine ? static_cast<int>(end - begin) : 0;
    const int sum = inclusive_sum(warp, length);
    unsigned long long place = warp.lane == warp.lanes - 1 ? sink.reserve(sum) : 0;
    place = __shfl_sync(warp.mask, place, warp.lanes - 1) + (sum - length);
    for (; waiting != 0; waiting &= waiting - 1) {
        const int owner = __ffs(waiting) - 1;
        const edge_t list_begin = __shfl_sync(warp.mask, begin, owner);
        const edge_t list_end = __shfl_sync(warp.mask, end, owner);
        const unsigned long long list_place = __shfl_sync(warp.mask, place, owner);
        read_list(column_indices, list_begin, list_end, warp.lane, warp.lanes, list_place, sink);
    }
    if (mine) begin = end;
}

// Reads the short lists: all lists that gather_by_block and gather_by_warp have not read. `stage` is shared
// memory for BATCH entries per thread.
template <typename Sink>
__device__ __forceinline__ void gather_by_scan(const int *column_indices, edge_t begin, edge_t end, edge_t *stage,
                                               Sink &sink) {
    __shared__ unsigned long long place;
    const unsigned capacity = BATCH * blockDim.x;
    int count;
    // Each list is shorter than WARP, so its length fits an int.
    unsigned position = exclusive_sum_of_block(static_cast<int>(end - begin), count);
    const unsigned total = count;
    if (total == 0) return;
    if (threadIdx.x == 0) place = sink.reserve(total);
    for (unsigned first = 0; first < total; first += capacity) {
        for (; begin < end && position < first + capacity; ++begin, ++position) stage[position - first] = begin;
        __syncthreads();
        int neighbours[BATCH];
#pragma unroll
        for (unsigned k = 0; k < BATCH; ++k) {
            const unsigned i = threadIdx.x + k * blockDim.x;
            neighbours[k] = first + i < total ? __ldg(&column_indices[stage[i]]) : NONE;
        }
        sink.put(place + first + threadIdx.x, blockDim.x, neighbours);
        __syncthreads();
    }
}

// Reads the list begin .. end - 1 of every thread of the block, and passes all neighbours to the sink, an object
// of the caller that stores neighbours. A list may be empty.
template <typename Sink>
__device__ __forceinline__ void gather(const int *column_indices, edge_t begin, edge_t end, edge_t *stage,
                                       Sink &sink) {
    gather_by_block(column_indices, begin, end, sink);
    gather_by_warp(column_indices, begin, end, sink);
    gather_by_scan(column_indices, begin, end, stage, sink);
}
