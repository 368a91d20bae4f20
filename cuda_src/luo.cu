// luo: search with a hierarchy of queues and three layers of kernels (Luo, Wong and Hwu 2010, sections 3.2 and 3.3).
//
// Queues: each block has W_FRONTIERS queues in shared memory, which the paper calls W-frontiers. A
// thread appends all vertices that it discovers to one of these queues, chosen by the thread's index.
// The W-frontiers of a block, one after another, form its B-frontier. The offset of a W-frontier in
// the B-frontier is the sum of the sizes of the W-frontiers before it, so the B-frontier needs no
// copy. The B-frontiers of all blocks form the G-frontier in global memory. A block reserves room in
// the G-frontier with one atomic, and its threads copy the B-frontier there with coalesced stores.
//
// Layers: luo_block runs levels in one block and keeps the frontier in shared memory, while it fits.
// luo_resident runs levels in blocks that are all resident and meet at a barrier. luo_level runs one level.
// After each launch the host picks the next layer by the size of the frontier.
//
// Split vertices: with SPLIT_DEGREE the host splits a vertex of higher degree into several consecutive rows,
// each with part of the arcs. Arcs lead to the first of these rows. The thread that claims the first row
// appends all rows of the vertex to the frontier.
//
// Races: a thread claims a vertex with a compare-and-swap of its level. So each vertex is in one queue, once,
// and a G-frontier never needs more than one entry per row. Before the claim a thread may read an outdated
// UNREACHED, because the caches of multiprocessors are not coherent. Then the claim fails.
//
// Capacities: if a W-frontier is full, further vertices go directly to the G-frontier.
#include "barrier.cuh"
#include "claim.cuh"
#include "profile.cuh"

namespace layers {
enum { luo_block, luo_resident };
}

// State of a search that kernels and the host share. The frontier of a level has sizes[level % 3] rows in
// queue(level). A level adds to the size of the next level's frontier, which was cleared before, and clears the
// size of the frontier two levels ahead.
struct search_state {
    int level;  // the level whose frontier the next launch expands
    int sizes[3];
    int failed;  // true if a block waited too long at the barrier
    grid_barrier barrier;
};

struct search {
    const offset_t *row_offsets;
    const int *column_indices;
    const int *run_lengths;  // for each vertex's first row: the number of the vertex's rows; null if no vertex is split
    int *levels;
    int *even_queue, *odd_queue;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
};

// The W-frontiers of a block: W_FRONTIERS queues in shared memory for the rows that the block discovers. A
// row whose W-frontier is full goes to the G-frontier in global memory.
struct w_frontiers {
    int *entries;  // array with `capacity` entries for each W-frontier
    int *sizes;    // by W-frontier: number of appends, which may exceed the capacity
    int capacity;
    int *queue;       // the G-frontier
    int *queue_size;  // number of rows in `queue`

    __device__ __forceinline__ void clear() {
        for (int w = threadIdx.x; w < W_FRONTIERS; w += blockDim.x) sizes[w] = 0;
    }

    __device__ __forceinline__ void append(int row) {
        const int w = threadIdx.x % W_FRONTIERS;
        const int position = atomicAdd(&sizes[w], 1);
        if (position < capacity)
            entries[w * capacity + position] = row;
        else
            queue[atomicAdd(queue_size, 1)] = row;
    }

    // size() returns the number of rows in the B-frontier (all W-frontiers
    // of the block). entry(i) returns row number i of the B-frontier.
    __device__ __forceinline__ int size() const {
        int sum = 0;
#pragma unroll
        for (int w = 0; w < W_FRONTIERS; ++w) sum += min(sizes[w], capacity);
        return sum;
    }
    __device__ __forceinline__ int entry(int i) const {
        int place = i, end = 0;
#pragma unroll
        for (int w = 0; w < W_FRONTIERS - 1; ++w) {
            end += min(sizes[w], capacity);
            if (i >= end) place = (w + 1) * capacity + i - end;
        }
        return entries[place];
    }
};

// Claims the unreached neighbours in a row. Appends the row of each claimed vertex to `found`. If the host has
// split the vertex's long adjacency list into several rows, the function appends all of them.
template <bool look_first>
__device__ __forceinline__ void expand(const search &search, int row, int level, w_frontiers &found) {
    claim_neighbours<look_first>(search.row_offsets, search.column_indices, search.levels, row, level, [&](int first) {
        const int rows = search.run_lengths == nullptr ? 1 : search.run_lengths[first];
#pragma unroll 1
        for (int i = 0; i < rows; ++i) found.append(first + i);
    });
}

// Expands this block's share of a level. The shares of the blocks are equal, so that a frontier with fewer
// rows than threads still uses many blocks. A share has at least min(32, blockDim.x) rows, except the last
// share, so some blocks may get no share.
__device__ __forceinline__ void expand_share(const search &search, search_state *state, int *entries, int capacity,
                                             int level, unsigned size) {
    __shared__ int sizes[W_FRONTIERS];
    __shared__ int place;  // index in the G-frontier at which the block's B-frontier begins
    const int *queue = search.queue(level);
    w_frontiers found = {entries, sizes, capacity, search.queue(level + 1), &state->sizes[(level + 1) % 3]};

    const unsigned share = max((size + gridDim.x - 1) / gridDim.x, min(blockDim.x, 32u));
    const unsigned first = blockIdx.x * share, last = min(first + share, size);
    // The loop's bounds are equal for all threads of a block, so that all threads of the block meet at the
    // barriers.
    for (unsigned base = first; base < last; base += blockDim.x) {
        found.clear();
        __syncthreads();
        if (base + threadIdx.x < last) expand<true>(search, queue[base + threadIdx.x], level, found);
        __syncthreads();
        const int discovered = found.size();
        if (threadIdx.x == 0) place = atomicAdd(found.queue_size, discovered);
        __syncthreads();
        for (int i = threadIdx.x; i < discovered; i += blockDim.x) found.queue[place + i] = found.entry(i);
        __syncthreads();
    }
}

// Stores the source vertex as the frontier of level 0. `row` is the first row of the source. If
// the host has split the source into run_lengths[row] rows, all these rows enter the frontier.
extern "C" __global__ void luo_begin(int *levels, const int *run_lengths, int *queue, search_state *state, int row) {
    const int rows = run_lengths == nullptr ? 1 : run_lengths[row];
    for (int i = global_thread(); i < rows; i += grid_threads()) queue[i] = row + i;
    if (global_thread() != 0) return;
    levels[row] = 0;
    *state = search_state{0, {rows, 0, 0}, 0, {0}};
}

// The first kind of kernel in this file: one block runs the level `level`,
// and then further levels as long as their frontiers have 1 .. `limit` rows.
extern "C" __global__ void __launch_bounds__(1024, 1)
    luo_block(const offset_t *row_offsets, const int *column_indices, const int *run_lengths, int *levels,
              int *even_queue, int *odd_queue, search_state *state, int capacity, level_record *records, int limit,
              int level, int size) {
    extern __shared__ int entries[];  // the W-frontiers of even levels, then the W-frontiers of odd levels
    __shared__ int sizes[3][W_FRONTIERS];
    __shared__ int spilled[3];  // by level modulo 3: number of rows that did not fit shared memory
    const search search = {row_offsets, column_indices, run_lengths, levels, even_queue, odd_queue};
    auto frontiers = [&](int level) {
        return w_frontiers{entries + level % 2 * W_FRONTIERS * capacity, sizes[level % 3], capacity,
                           search.queue(level), &spilled[level % 3]};
    };

    frontiers(level + 1).clear();
    if (threadIdx.x == 0) spilled[(level + 1) % 3] = 0;
    __syncthreads();
    bool in_shared = false;  // true if this level's frontier is in shared memory
    do {
        w_frontiers current = frontiers(level), next = frontiers(level + 1);
        frontiers(level + 2).clear();
        if (threadIdx.x == 0) {
            spilled[(level + 2) % 3] = 0;
            note_level(records, level, size, layers::luo_block);
        }
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            expand<false>(search, in_shared ? current.entry(i) : current.queue[i], level, next);
        __syncthreads();
        const int discovered = next.size();
        size = discovered + *next.queue_size;
        in_shared = size == discovered && size <= limit;
        if (!in_shared) {
            for (int i = threadIdx.x; i < discovered; i += blockDim.x)
                next.queue[*next.queue_size + i] = next.entry(i);
            __syncthreads();
        }
        ++level;
    } while (size > 0 && size <= limit);
    if (threadIdx.x == 0) {
        state->level = level;
        state->sizes[level % 3] = size;
        state->sizes[(level + 1) % 3] = 0;
    }
}

// The second kind of kernel in this file: resident blocks run the level `level`,
// and then further levels as long as their frontiers have at_least .. at_most rows.
extern "C" __global__ void __launch_bounds__(1024, 1)
    luo_resident(const offset_t *row_offsets, const int *column_indices, const int *run_lengths, int *levels,
                 int *even_queue, int *odd_queue, search_state *state, int capacity, level_record *records,
                 int at_least, int at_most, int max_polls, int level, int size) {
    extern __shared__ int entries[];
    const search search = {row_offsets, column_indices, run_lengths, levels, even_queue, odd_queue};
    do {
        if (global_thread() == 0) {
            state->sizes[(level + 2) % 3] = 0;
            note_level(records, level, size, layers::luo_resident);
        }
        expand_share(search, state, entries, capacity, level, size);
        if (!wait_for_all_blocks(&state->barrier, max_polls)) {
            if (threadIdx.x == 0) state->failed = 1;
            return;
        }
        ++level;
        // The read is volatile, because other blocks have added to the size.
        size = *const_cast<const volatile int *>(&state->sizes[level % 3]);
    } while (size >= at_least && size <= at_most);
    if (global_thread() == 0) state->level = level;
}

// The third kind of kernel in this file: one launch expands the frontier of level `level`, which has `size` vertices.
// The blocks share the vertices, and need not be resident, because they do not wait for each other.
extern "C" __global__ void __launch_bounds__(1024, 1)
    luo_level(const offset_t *row_offsets, const int *column_indices, const int *run_lengths, int *levels,
              int *even_queue, int *odd_queue, search_state *state, int capacity, int level, int size) {
    extern __shared__ int entries[];
    const search search = {row_offsets, column_indices, run_lengths, levels, even_queue, odd_queue};
    if (global_thread() == 0) {
        state->sizes[(level + 2) % 3] = 0;
        state->level = level + 1;
    }
    expand_share(search, state, entries, capacity, level, size);
}
