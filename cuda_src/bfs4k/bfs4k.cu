// bfs4k: a search that chooses, for each level, one of two kernels and one of several ways to distribute work
// (Busato and Bombieri 2014).
//
// The kernel bfs4k_single_block runs several levels in one block, with the frontier in shared memory. It stops when
// a frontier is empty or has more than `limit` vertices, or after a level with rows for child kernels. The kernel
// bfs4k_multi_block runs one level. After each launch the host picks the next kernel by the size of the frontier.
//
// A level assigns rows (adjacency lists) to virtual warps, or edges to threads (expand.cuh). Child kernels expand
// rows of high degree (child.cuh). Hashing drops duplicates (hash.cuh). Prefix sums give each discovered vertex
// its place in the queue (output.cuh).
//
// The parent does not wait for its child kernels. A launch ends only after its children, so the children end before
// the next launch begins. If a level has MAX_CHILDREN child kernels, or the device refuses a launch, the parent
// itself expands the row that has no child kernel.
//
// Races: threads read and write levels without atomics. A vertex may enter the queue more than once, which
// costs only time (see visitor::visit).
//
// Capacities: with duplicates a queue can need more than its V entries. Vertices that do not fit are counted
// but not stored. When the host reads a size above the capacity, it rebuilds the queue from the level array.
#include "expand.cuh"
#include "profile.cuh"
#include "rebuild.cuh"

namespace layers {
enum { bfs4k_single_block };
}

// The queue entry that replaces a vertex when a child kernel expands the vertex's row.
constexpr int STRUCK = -1;

// The frontier in global memory, from which the kernel bfs4k_multi_block takes rows.
struct global_frontier {
    static constexpr bool OF_ALL_BLOCKS = true;  // all blocks share this frontier

    int *queue;

    __device__ __forceinline__ adjacency row_at(const search_context &search, unsigned i) const {
        const int v = queue[i];
        return v == STRUCK ? adjacency{0, 0} : row_of(search, v);
    }

    __device__ __forceinline__ void strike(unsigned i) { queue[i] = STRUCK; }
};

extern "C" __global__ void bfs4k_begin(int *levels, int *queue, search_state *state, int source) {
    levels[source] = 0;
    queue[0] = source;
    *state = search_state{0, {1, 0, 0}, {0, 0}};
}

// Runs one level in all blocks. `resident_threads` is the number of threads that the device can hold at once.
extern "C" __global__ void __launch_bounds__(1024)
    bfs4k_multi_block(const offset_t *row_offsets, const int *column_indices, int *levels, int *even_queue,
                      int *odd_queue, int capacity, search_state *state, unsigned long long *counters, int k1, int k3,
                      int k4, int k7, int child_degree, int hash_bytes, int resident_threads, int level, int size) {
    extern __shared__ unsigned long long hash_table[];
    search_context search;
    search.row_offsets = row_offsets, search.column_indices = column_indices;
    search.levels = levels, search.state = state, search.counters = counters;
    search.even_queue = even_queue, search.odd_queue = odd_queue, search.capacity = capacity;
    search.k1 = k1, search.k3 = k3, search.k4 = k4, search.k7 = k7;
    search.child_degree = child_degree, search.hash_bytes = hash_bytes, search.level = level;
    if (global_thread() == 0) {
        state->level = level + 1;
        *search.size(level + 2) = 0;
        state->children[(level + 1) % 2] = 0;
        search.count(counted::multi_block_levels);
    }
    const warp_lanes warp = this_warp();
    global_frontier frontier = {search.queue(level)};
    local_queue found;
    expand<global_frontier, local_queue>({{search, warp, found, hash_table}, frontier, unsigned(size)},
                                         resident_threads);
    found.finish(search, warp);
}

#if CHILD_KERNELS
__global__ void __launch_bounds__(1024) bfs4k_child(search_context search, adjacency row) {
    extern __shared__ unsigned long long child_hash_table[];
    const warp_lanes warp = this_warp();
    local_queue found;
    visitor<local_queue> visitor = {search, warp, found, child_hash_table};
    visitor.visit_row(row.begin + global_thread(), row.begin + row.degree, grid_threads());
    found.finish(search, warp);
}
#endif

// Runs levels in one block, until a frontier is empty or has more than `limit` vertices, or a level had rows for
// child kernels.
extern "C" __global__ void __launch_bounds__(1024, 1)
    bfs4k_single_block(const offset_t *row_offsets, const int *column_indices, int *levels, int *even_queue,
                       int *odd_queue, int capacity, search_state *state, unsigned long long *counters, int k1,
                       int k3, int k4, int k7, int child_degree, int hash_bytes, int limit, level_record *records,
                       int level, int size) {
    // Holds the hash table, then the rows of the frontiers of even levels, then the rows of the frontiers of
    // odd levels.
    extern __shared__ unsigned long long dynamic[];
    __shared__ int sizes[3];
    __shared__ bool has_child_row[3];
    search_context search;
    search.row_offsets = row_offsets, search.column_indices = column_indices;
    search.levels = levels, search.state = state, search.counters = counters;
    search.even_queue = even_queue, search.odd_queue = odd_queue, search.capacity = capacity;
    search.k1 = k1, search.k3 = k3, search.k4 = k4, search.k7 = k7;
    search.child_degree = child_degree, search.hash_bytes = hash_bytes, search.level = level;
    auto frontier = [&](int level) {
        char *rows = reinterpret_cast<char *>(dynamic) + hash_bytes;
        rows += level % 2 * limit * (sizeof(offset_t) + sizeof(unsigned));
        return shared_frontier{reinterpret_cast<offset_t *>(rows), limit, &sizes[level % 3],
                               &has_child_row[level % 3]};
    };
    auto clear = [&](int level) {
        sizes[level % 3] = 0;
        has_child_row[level % 3] = false;
    };

    if (threadIdx.x == 0) {
        clear(level);
        clear(level + 1);
        *state = search_state{level, {0, 0, 0}, {0, 0}};
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        frontier(level).put(search, i, row_of(search, search.queue(level)[i]));
    __syncthreads();

    bool children = false;
    for (; size > 0 && size <= limit && !children; ++search.level) {
        shared_frontier current = frontier(search.level);
        shared_frontier next = frontier(search.level + 1);
        // If the level has child kernels, these append to the queue in global memory. Then
        // the block also adds the number of its own new vertices to the size of this queue.
        children = *current.has_child_row;
        if (children) next.size = search.size(search.level + 1);
        if (threadIdx.x == 0) {
            note_level(records, search.level, size, layers::bfs4k_single_block);
            search.count(counted::single_block_levels);
            clear(search.level + 2);
        }
        const warp_lanes warp = this_warp();
        expansion<shared_frontier, shared_frontier> expansion = {
            {search, warp, next, dynamic}, current, unsigned(size)};
        if (children) {
            expansion.launch_children(threadIdx.x - warp.lane, warp.lanes, blockDim.x);
            __syncthreads();
        }
        expand(expansion, blockDim.x);
        __syncthreads();
        size = *next.size;  // benign race: child kernels may still add to the size, but then the loop ends
    }
    if (threadIdx.x == 0) {
        if (!children) *search.size(search.level) = size;
        state->level = search.level;
    }
}
