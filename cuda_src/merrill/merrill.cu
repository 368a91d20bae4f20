// merrill: gathers neighbours cooperatively, and places them in queues by prefix sums. The search is from Merrill,
// Garland and Grimshaw, Scalable GPU Graph Traversal, PPoPP 2012. The paper on BFS-4K calls it "Garland".
//
// A level has two halves. Expansion turns vertices into their neighbours, which are the candidates for the next
// level. Contraction drops visited candidates and gives the remaining candidates their level. Four organisations
// combine the halves:
//
// - expand_contract reads a queue of vertices, contracts candidates as it gathers them, and writes vertices.
// - contract_expand reads a queue of candidates, contracts them, expands the remaining vertices in the same launch,
// and writes candidates.
// - "two-phase" has one launch for each half (contract and expand), with both queues, so that each half is
// evenly loaded.
// - "hybrid" uses contract_expand for levels with a short queue, and two-phase for the other levels. The two
// kinds of levels read a queue of candidates, so the search may alternate between them at any level.
//
// gather.cuh gathers the lists. culling.cuh looks up visited vertices and removes duplicates.
//
// Queues: the queue of a level has sizes[level % 3] entries in queue(level), which are vertices of the level or
// candidates for the level. A level adds to the size of the next level's queue, and clears the size of the queue
// two levels ahead. One atomic reserves room for a whole list, for all lists that a warp reads, or for all short
// lists of a block.
//
// Resident launches run several levels, with a barrier between blocks that are all resident. Queues of
// resident launches are short, so these launches look up levels directly and skip the bitmap.
//
// Races: a vertex may be in a queue more than once. All copies of the vertex get an equal level (see
// culling.cuh).
//
// Capacities: with duplicates a queue may overflow. Entries that do not fit are counted but not stored. The
// host then discards the queue and rebuilds it from the levels. A queue without duplicates always has room.
#include "barrier.cuh"
#include "culling.cuh"
#include "profile.cuh"

// The capacity, in vertices per thread, of the array in shared memory where a block of expand_contract
// collects vertices.
constexpr int FOUND_PER_THREAD = 8;
constexpr int QUEUED = -2;  // in refill_candidates: marks vertices that are already in the queue

namespace layers {
enum { resident_expand_contract, resident_contract_expand };
}

typedef unsigned long long count_t;

// The state of a search in global memory, which kernels and the host share.
struct search_state {
    count_t sizes[3];         // sizes of the queues in queue(level), by level modulo 3
    count_t vertex_sizes[2];  // two-phase: sizes of the vertex queues, by level modulo 2
    int level;                // after a resident launch: the level of the queue to read next
    int failed;               // true if a block waited too long at the barrier
    grid_barrier barrier;
};

struct search_data {
    const offset_t *row_offsets;
    const int *column_indices;
    visited_vertices visited;
    int *even_queue, *odd_queue;
    count_t capacity;  // number of entries of each queue
    int *vertex_queue;
    count_t vertex_capacity;
    search_state *state;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
    __device__ __forceinline__ count_t *size(int level) const { return &state->sizes[level % 3]; }
};

// SEARCH_PARAMETERS are the first parameters of all kernels. SEARCH_OF_PARAMETERS creates a search_data
// object from these parameters.
#define SEARCH_PARAMETERS                                                                                          \
    const offset_t *row_offsets, const int *column_indices, int *levels, unsigned char *bits, int *even_queue,     \
        int *odd_queue, long long capacity, int *vertex_queue, int vertex_capacity, search_state *state
#define SEARCH_OF_PARAMETERS                                                                                       \
    search_data search;                                                                                            \
    search.row_offsets = row_offsets, search.column_indices = column_indices, search.state = state;                \
    search.visited.levels = levels, search.visited.bits = bits;                                                    \
    search.even_queue = even_queue, search.odd_queue = odd_queue, search.capacity = capacity;                      \
    search.vertex_queue = vertex_queue, search.vertex_capacity = vertex_capacity

// The dynamic shared memory of a block: BATCH edges per thread, WARP_TABLE_SIZE words per warp, and
// HISTORY_SIZE words. expand_contract adds FOUND_PER_THREAD words per thread.
struct workspace {
    edge_t *stage;
    int *warp_tables, *history, *found;

    __device__ __forceinline__ workspace(edge_t *memory) {
        stage = memory;
        warp_tables = (int *)(stage + BATCH * blockDim.x);
        history = warp_tables + (blockDim.x + WARP - 1) / WARP * WARP_TABLE_SIZE;
        found = history + HISTORY_SIZE;
    }
};

// Returns the number of queue entries that a block takes at a time, for a queue of `size` entries. Usually a block
// takes one entry per thread. If the queue has fewer entries than the grid has threads, the blocks share them
// evenly, but each share is rounded up to whole warps.
__device__ __forceinline__ unsigned tile_size(count_t size) {
    if (size >= (count_t)gridDim.x * blockDim.x) return blockDim.x;
    const unsigned share = (unsigned)size / gridDim.x + 1;
    return min(blockDim.x, (share + WARP - 1) / WARP * WARP);
}

// Receives the neighbours that gather() reads, and appends them to the next queue as candidates.
struct candidate_sink {
    int *queue;
    count_t *size;
    count_t capacity;

    __device__ __forceinline__ count_t reserve(edge_t count) const { return atomicAdd(size, (count_t)count); }
    __device__ __forceinline__ void put(count_t place, unsigned stride, int (&neighbours)[BATCH]) const {
#pragma unroll
        for (unsigned k = 0; k < BATCH; ++k)
            if (neighbours[k] != NONE && place + k * stride < capacity) queue[place + k * stride] = neighbours[k];
    }
};

// Receives the neighbours that gather() reads, and drops visited vertices. Collects the remaining vertices in
// shared memory or, if the shared memory is full, in the next level's queue.
template <bool look_at_bits>
struct vertex_sink {
    visited_vertices visited;
    int level;
    int *found;
    int *found_size;
    int *queue;
    count_t *size;
    count_t capacity;

    __device__ __forceinline__ count_t reserve(edge_t) const { return 0; }
    __device__ __forceinline__ void put(count_t, unsigned, int (&neighbours)[BATCH]) const {
        visited.visit<look_at_bits>(neighbours, level);
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (neighbours[k] != NONE) append(neighbours[k]);
    }
    __device__ __forceinline__ void append(int vertex) const {
        const unsigned position = atomicAdd(found_size, 1);
        if (position < FOUND_PER_THREAD * blockDim.x) {
            found[position] = vertex;
            return;
        }
        const count_t place = atomicAdd(size, (count_t)1);
        if (place < capacity) queue[place] = vertex;
    }
    // Moves the collected vertices to the queue. Vertices for which the queue has no room are only counted. All
    // threads of the block must call the function.
    __device__ __forceinline__ void flush() const {
        __shared__ count_t place;
        __syncthreads();
        const unsigned count = min(*found_size, (int)(FOUND_PER_THREAD * blockDim.x));
        if (count == 0) return;
        if (threadIdx.x == 0) place = atomicAdd(size, (count_t)count);
        __syncthreads();
        if (threadIdx.x == 0) *found_size = 0;
        for (unsigned i = threadIdx.x; i < count && place + i < capacity; i += blockDim.x)
            queue[place + i] = found[i];
        __syncthreads();
    }
};

// Clears the counters to which the next level adds. One thread calls the function at each level, in the level's
// first launch.
__device__ __forceinline__ void begin_level(const search_data &search, int level) {
    *search.size(level + 2) = 0;
    search.state->vertex_sizes[(level + 1) % 2] = 0;
}

template <bool look_at_bits>
__device__ __forceinline__ void expand_contract_level(const search_data &search, const workspace &workspace,
                                                      const duplicate_filter &duplicates, int level, count_t size) {
    __shared__ int found_size;
    const vertex_sink<look_at_bits> sink = {search.visited,          level + 1,
                                            workspace.found,         &found_size,
                                            search.queue(level + 1), search.size(level + 1),
                                            search.capacity};
    const int *queue = search.queue(level);
    const unsigned tile = tile_size(size);
    if (threadIdx.x == 0) found_size = 0;
    // The bounds of this loop, and of the loops in the kernels below, are equal for all threads of a block.
    // So all threads of the block meet at the barriers.
    for (count_t first = (count_t)blockIdx.x * tile; first < size; first += (count_t)gridDim.x * tile) {
        const bool has_entry = threadIdx.x < tile && first + threadIdx.x < size;
        const int v = duplicates.filter(has_entry ? __ldcg(&queue[first + threadIdx.x]) : NONE);
        const edge_t begin = v != NONE ? __ldg(&search.row_offsets[v]) : 0;
        const edge_t end = v != NONE ? __ldg(&search.row_offsets[v + 1]) : 0;
        gather(search.column_indices, begin, end, workspace.stage, sink);
        sink.flush();
    }
}

template <bool look_at_bits>
__device__ __forceinline__ void contract_expand_level(const search_data &search, const workspace &workspace,
                                                      const duplicate_filter &duplicates, int level, count_t size) {
    const candidate_sink sink = {search.queue(level + 1), search.size(level + 1), search.capacity};
    const int *queue = search.queue(level);
    const unsigned tile = tile_size(size);
    for (count_t first = (count_t)blockIdx.x * tile; first < size; first += (count_t)gridDim.x * tile) {
        const bool has_entry = threadIdx.x < tile && first + threadIdx.x < size;
        int candidate[1] = {has_entry ? __ldcg(&queue[first + threadIdx.x]) : NONE};
        search.visited.visit<look_at_bits>(candidate, level);
        const int v = duplicates.filter(candidate[0]);
        const edge_t begin = v != NONE ? __ldg(&search.row_offsets[v]) : 0;
        const edge_t end = v != NONE ? __ldg(&search.row_offsets[v + 1]) : 0;
        gather(search.column_indices, begin, end, workspace.stage, sink);
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    begin_search(int *queue, search_state *state, int source) {
    if (global_thread() != 0) return;
    queue[0] = source;
    *state = search_state{{1, 0, 0}, {0, 0}, 0, 0, {0}};
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    expand_contract(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    SEARCH_OF_PARAMETERS;
    if (global_thread() == 0) begin_level(search, level);
    expand_contract_level<BITMAP>(search, workspace, duplicates, level, *search.size(level));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    contract_expand(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    SEARCH_OF_PARAMETERS;
    if (global_thread() == 0) begin_level(search, level);
    contract_expand_level<BITMAP>(search, workspace, duplicates, level, *search.size(level));
}

// Runs the first half of a two-phase level: contraction. Each thread takes BATCH candidates at a time.
extern "C" __global__ void __launch_bounds__(1024, 1)
    contract(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    __shared__ count_t place;
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    SEARCH_OF_PARAMETERS;
    const int *queue = search.queue(level);
    const count_t size = *search.size(level);
    const unsigned tile = BATCH * blockDim.x;
    if (global_thread() == 0) begin_level(search, level);
    for (count_t first = (count_t)blockIdx.x * tile; first < size; first += (count_t)gridDim.x * tile) {
        int vertices[BATCH], count = 0, total;
#pragma unroll
        for (unsigned k = 0; k < BATCH; ++k) {
            const count_t i = first + threadIdx.x + k * blockDim.x;
            vertices[k] = i < size ? __ldcg(&queue[i]) : NONE;
        }
        search.visited.visit<BITMAP>(vertices, level);
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            vertices[k] = duplicates.filter(vertices[k]);
            count += vertices[k] != NONE;
        }
        const int before = exclusive_sum_of_block(count, total);
        if (total == 0) continue;
        if (threadIdx.x == 0) place = atomicAdd(&state->vertex_sizes[level % 2], (count_t)total);
        __syncthreads();
        count_t mine = place + before;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            if (vertices[k] == NONE) continue;
            if (mine < search.vertex_capacity) vertex_queue[mine] = vertices[k];
            ++mine;
        }
    }
}

// Runs the second half of a two-phase level: expansion.
extern "C" __global__ void __launch_bounds__(1024, 1)
    expand(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    const workspace workspace(memory);
    SEARCH_OF_PARAMETERS;
    const candidate_sink sink = {search.queue(level + 1), search.size(level + 1), search.capacity};
    const count_t size = min(state->vertex_sizes[level % 2], search.vertex_capacity);
    const unsigned tile = tile_size(size);
    for (count_t first = (count_t)blockIdx.x * tile; first < size; first += (count_t)gridDim.x * tile) {
        const bool has_entry = threadIdx.x < tile && first + threadIdx.x < size;
        const int v = has_entry ? __ldcg(&vertex_queue[first + threadIdx.x]) : NONE;
        const edge_t begin = v != NONE ? __ldg(&row_offsets[v]) : 0;
        const edge_t end = v != NONE ? __ldg(&row_offsets[v + 1]) : 0;
        gather(column_indices, begin, end, workspace.stage, sink);
    }
}

// Runs the level `level`, and then further levels while their queues have 1 .. at_most entries. `at_most` must not
// exceed the queue's capacity.
template <int layer>
__device__ __forceinline__ void run_levels(const search_data &search, edge_t *memory, level_record *records,
                                           int at_most, int max_polls, int level) {
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    count_t size = *search.size(level);
    do {
        if (global_thread() == 0) {
            begin_level(search, level);
            note_level(records, level, static_cast<int>(size), layer);
        }
        if (layer == layers::resident_expand_contract)
            expand_contract_level<false>(search, workspace, duplicates, level, size);
        else
            contract_expand_level<false>(search, workspace, duplicates, level, size);
        if (!wait_for_all_blocks(&search.state->barrier, max_polls)) {
            if (threadIdx.x == 0) search.state->failed = 1;
            return;
        }
        ++level;
        size = __ldcg(search.size(level));
    } while (size > 0 && size <= at_most);
    if (global_thread() == 0) search.state->level = level;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    resident_expand_contract(SEARCH_PARAMETERS, level_record *records, int at_most, int max_polls, int level) {
    extern __shared__ edge_t memory[];
    SEARCH_OF_PARAMETERS;
    run_levels<layers::resident_expand_contract>(search, memory, records, at_most, max_polls, level);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    resident_contract_expand(SEARCH_PARAMETERS, level_record *records, int at_most, int max_polls, int level) {
    extern __shared__ edge_t memory[];
    SEARCH_OF_PARAMETERS;
    run_levels<layers::resident_contract_expand>(search, memory, records, at_most, max_polls, level);
}

// Rebuilds the queue of the vertices of a level after an overflow. The host sets the queue's size to 0 before
// the launch.
extern "C" __global__ void __launch_bounds__(1024, 1)
    refill_vertices(SEARCH_PARAMETERS, int num_vertices, int level) {
    SEARCH_OF_PARAMETERS;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) search.queue(level)[atomicAdd(search.size(level), (count_t)1)] = v;
}

// Receives the neighbours that gather() reads, and queues the unreached neighbours. An atomic replaces the
// neighbour's level by QUEUED, so that each neighbour enters the queue once.
struct claiming_sink {
    int *levels;
    int *queue;
    count_t *size;

    __device__ __forceinline__ count_t reserve(edge_t) const { return 0; }
    __device__ __forceinline__ void put(count_t, unsigned, int (&neighbours)[BATCH]) const {
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (neighbours[k] != NONE && atomicCAS(&levels[neighbours[k]], UNREACHED, QUEUED) == UNREACHED)
                queue[atomicAdd(size, (count_t)1)] = neighbours[k];
    }
};

// After an overflow, rebuilds the queue of candidates for a level from the vertices
// of the previous level. The host sets the queue's size to 0 before the launch.
extern "C" __global__ void __launch_bounds__(1024, 1)
    refill_candidates(SEARCH_PARAMETERS, int num_vertices, int level) {
    extern __shared__ edge_t memory[];
    SEARCH_OF_PARAMETERS;
    const claiming_sink sink = {levels, search.queue(level), search.size(level)};
    for (unsigned first = blockIdx.x * blockDim.x; first < num_vertices; first += grid_threads()) {
        const unsigned v = first + threadIdx.x;
        const bool expands = v < num_vertices && levels[v] == level - 1;  // benign race: claims store only QUEUED
        const edge_t begin = expands ? row_offsets[v] : 0, end = expands ? row_offsets[v + 1] : 0;
        gather(column_indices, begin, end, memory, sink);
    }
}
