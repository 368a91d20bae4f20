// merrill: neighbours gathered cooperatively, places by prefix sums (Merrill, Garland and Grimshaw, Scalable GPU
// Graph Traversal, PPoPP 2012; "Garland" in BFS-4K).
//
// A level has two halves. Expansion turns vertices into the edges that leave them, that is, into candidates for the
// next level; contraction keeps the unvisited candidates, and gives them their level. The
// organisations differ in where a launch begins and what passes through global memory:
//     expand_contract   takes a queue of vertices, leaves the next one; candidates are contracted once gathered
//     contract_expand   takes a queue of candidates, leaves the next one; survivors are expanded at once
//     contract, expand  two-phase: both queues, a launch each, so that every half is evenly loaded by itself
//     hybrid            contract_expand while queues are short, then two-phase; both begin with candidates
// gather.cuh has the gathering, culling.cuh the status lookup and the removal of duplicates.
//
// Queues. The queue of a level is sizes[level % 3] entries, vertices of that level or candidates for it, in
// queue(level). A level grows the next one's size and clears that of the one after. Room in a queue is reserved for
// many entries at a time, one atomic for a block's prefix sum, a warp's, or a list.
//
// Resident launches run levels one after another, with a barrier between blocks that are all resident. Their queues
// are short, so they ask for levels at once instead of looking at the bitmap first.
//
// Races. See culling.cuh: a vertex may be in a queue more than once. All its copies get the same level.
//
// Capacities. With duplicates a queue may need more than its capacity. What does not fit is counted but not stored.
// The host then discards the queue and has it rebuilt from the levels, without duplicates, which always fits.
#include "barrier.cuh"
#include "culling.cuh"
#include "profile.cuh"

// The host defines FOUND_PER_THREAD, the vertices that a block of expand_contract collects before it appends them to
// the queue, by thread of the block.

// In refill_candidates: the level of vertices that are in the queue.
#define QUEUED (-2)

typedef unsigned long long count_t;

// State shared by launches and the host.
struct search_state {
    count_t sizes[3];         // of the queues of levels modulo 3
    count_t vertex_sizes[2];  // two-phase: vertices of the levels modulo 2
    int level;                // whose queue comes next, after a resident launch
    int failed;               // a block gave up waiting for the others
    grid_barrier barrier;
};

struct search {
    const offset_t *row_offsets;
    const int *column_indices;
    visited_vertices visited;
    int *even_queue, *odd_queue;
    count_t capacity;  // entries of either
    int *vertex_queue;
    count_t vertex_capacity;
    search_state *state;

    __device__ __forceinline__ int *queue(int level) const { return level % 2 ? odd_queue : even_queue; }
    __device__ __forceinline__ count_t *size(int level) const { return &state->sizes[level % 3]; }
};

// The first parameters of all kernels, and the search constructed from them.
#define SEARCH_PARAMETERS                                                                                          \
    const offset_t *row_offsets, const int *column_indices, int *levels, unsigned char *bits, int *even_queue,     \
        int *odd_queue, long long capacity, int *vertex_queue, int vertex_capacity, search_state *state
#define SEARCH                                                                                                     \
    {row_offsets, column_indices, {levels, bits}, even_queue, odd_queue, (count_t)capacity, vertex_queue,          \
     (count_t)vertex_capacity, state}

// The dynamic shared memory: BATCH edges a thread; WARP_TABLE_SIZE words a warp, HISTORY_SIZE words; and in
// expand_contract FOUND_PER_THREAD words a thread.
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

// The queue entries that a block takes at a time, of a queue of some size: one a thread, but when there are fewer
// entries than threads they are spread over all blocks, down to a warp each.
__device__ __forceinline__ unsigned tile_size(count_t size) {
    if (size >= (count_t)gridDim.x * blockDim.x) return blockDim.x;
    const unsigned share = (unsigned)size / gridDim.x + 1;
    return min(blockDim.x, (share + WARP - 1) / WARP * WARP);
}

// Gathered candidates go to the next queue as they are.
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

// Gathered candidates are contracted at once, and the vertices that remain collected: in shared memory, or in the
// next queue when that is full.
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
    // Move what was collected to the queue. For all threads of the block.
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

// For one thread of a level's first launch: clear the counters that the next level will grow.
__device__ __forceinline__ void begin_level(const search &search, int level) {
    *search.size(level + 2) = 0;
    search.state->vertex_sizes[(level + 1) % 2] = 0;
}

template <bool look_at_bits>
__device__ __forceinline__ void expand_contract_level(const search &search, const workspace &workspace,
                                                      const duplicate_filter &duplicates, int level, count_t size) {
    __shared__ int found_size;
    const vertex_sink<look_at_bits> sink = {search.visited,          level + 1,
                                            workspace.found,         &found_size,
                                            search.queue(level + 1), search.size(level + 1),
                                            search.capacity};
    const int *queue = search.queue(level);
    const unsigned tile = tile_size(size);
    if (threadIdx.x == 0) found_size = 0;
    // Here and below the bounds depend on the block alone, so that all its threads meet at the barriers.
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
__device__ __forceinline__ void contract_expand_level(const search &search, const workspace &workspace,
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
    const search search = SEARCH;
    if (global_thread() == 0) begin_level(search, level);
    expand_contract_level<BITMAP>(search, workspace, duplicates, level, *search.size(level));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    contract_expand(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    const search search = SEARCH;
    if (global_thread() == 0) begin_level(search, level);
    contract_expand_level<BITMAP>(search, workspace, duplicates, level, *search.size(level));
}

// The first half of a two-phase level. A thread takes BATCH candidates.
extern "C" __global__ void __launch_bounds__(1024, 1)
    contract(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    __shared__ count_t place;
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    const search search = SEARCH;
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

// The second half.
extern "C" __global__ void __launch_bounds__(1024, 1)
    expand(SEARCH_PARAMETERS, int level) {
    extern __shared__ edge_t memory[];
    const workspace workspace(memory);
    const search search = SEARCH;
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

// Run levels while their queues have 1 .. at_most entries, which fit the memory.
template <int layer>
__device__ __forceinline__ void run_levels(const search &search, edge_t *memory, level_record *records, int at_most,
                                           int max_polls, int level) {
    const workspace workspace(memory);
    const duplicate_filter duplicates(workspace.warp_tables, workspace.history);
    count_t size = *search.size(level);
    do {
        if (global_thread() == 0) {
            begin_level(search, level);
            note_level(records, level, static_cast<int>(size), layer);
        }
        if (layer == LAYER_RESIDENT_EXPAND_CONTRACT)
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
    run_levels<LAYER_RESIDENT_EXPAND_CONTRACT>(SEARCH, memory, records, at_most, max_polls, level);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    resident_contract_expand(SEARCH_PARAMETERS, level_record *records, int at_most, int max_polls, int level) {
    extern __shared__ edge_t memory[];
    run_levels<LAYER_RESIDENT_CONTRACT_EXPAND>(SEARCH, memory, records, at_most, max_polls, level);
}

// Rebuild the queue of vertices of a level. The host has cleared its size.
extern "C" __global__ void __launch_bounds__(1024, 1)
    refill_vertices(SEARCH_PARAMETERS, int num_vertices, int level) {
    const search search = SEARCH;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) search.queue(level)[atomicAdd(search.size(level), (count_t)1)] = v;
}

// Takes gathered candidates that have not been taken before.
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

// Rebuild the queue of candidates for a level from the vertices of the one before. The host has cleared its size.
extern "C" __global__ void __launch_bounds__(1024, 1)
    refill_candidates(SEARCH_PARAMETERS, int num_vertices, int level) {
    extern __shared__ edge_t memory[];
    const search search = SEARCH;
    const claiming_sink sink = {levels, search.queue(level), search.size(level)};
    for (unsigned first = blockIdx.x * blockDim.x; first < num_vertices; first += grid_threads()) {
        const unsigned v = first + threadIdx.x;
        const bool expands = v < num_vertices && levels[v] == level - 1;  // benign race: no claim is of that level
        const edge_t begin = expands ? row_offsets[v] : 0, end = expands ? row_offsets[v + 1] : 0;
        gather(column_indices, begin, end, memory, sink);
    }
}
