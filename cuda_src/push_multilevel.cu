// push_multilevel: runs several small levels in one launch (the textbook PMPP, Fig. 15.16 B).
//
// A level whose frontier fits one block is not worth a launch of its own. The kernel push_multilevel runs in one
// block. It runs level after level, with a barrier of the block after each level, and keeps frontiers in shared
// memory. It stops when a frontier is empty or has more than small_frontier vertices. The kernel push_private runs
// each larger level in a launch of its own. The host chooses the kernel by the size of the frontier.
//
// There are two queues in global memory: one for even levels and one for odd levels. Between launches, the frontier
// lies in the global queue of its level, and its length is sizes[level % 3]. Inside the kernel, vertex i of the
// frontier lies at index i of a queue in shared memory, if the queue has that many places. Otherwise the vertex
// lies at index i of the global queue. So the kernel completes a level that outgrows the shared queue. At the end
// the block copies the vertices of the shared queue to the beginning of the global queue.
//
// Invariants: only one thread claims a vertex, so a global queue of V entries cannot overflow. There are no races.
// An even level reads a queue for even levels and appends to queues for odd levels. An odd level does the reverse.
// There are three counters of frontier sizes. All threads read the counter of this level, threads add to the
// counter of the next level, and one thread clears the third counter. So one barrier per level is enough.
//
// Cost: a level is a chain of dependent accesses: queue entry, row offsets, neighbours, claim, append. A thread
// keeps several reads of neighbours, claims and appends in flight (claim.cuh). Two changes gained nothing on road
// networks on an H200: prefetching a vertex's row offsets when the vertex is claimed, and reading a neighbour's
// level before claiming the neighbour.
#include "claim.cuh"
#include "profile.cuh"
#include "queue.cuh"

// Stores a vertex at the next index of the shared queue. If the shared queue is full, the function stores the
// vertex at this index of the global queue.
__device__ __forceinline__ void append_or_spill(const vertex_queue &queue, int *spill, int vertex) {
    const unsigned position = atomicAdd(queue.size, 1);
    (position < queue.capacity ? queue.entries : spill)[position] = vertex;
}

namespace layers {
enum { push_multilevel };
}

struct queue_sizes {
    int sizes[3];  // as the kernel push_private leaves and expects them
    int level;     // level of the frontier that the kernel leaves
};

// Runs levels, from `level` on, while the frontier has 1 .. small_frontier vertices.
extern "C" __global__ void push_multilevel(const offset_t *row_offsets, const int *column_indices, int *levels,
                                           int small_frontier, int *even_queue, int *odd_queue, queue_sizes *state,
                                           level_record *records, int level) {
    extern __shared__ int local_frontier[];  // for even levels, then for odd levels
    __shared__ int counts[3];
    auto shared_queue = [&](int level) { return local_frontier + level % 2 * small_frontier; };
    auto global_queue = [&](int level) { return level % 2 ? odd_queue : even_queue; };

    int size = state->sizes[level % 3];
    for (int i = threadIdx.x; i < size; i += blockDim.x) shared_queue(level)[i] = global_queue(level)[i];
    if (threadIdx.x == 0) counts[(level + 1) % 3] = 0;
    __syncthreads();
    while (size > 0 && size <= small_frontier) {
        if (threadIdx.x == 0) {
            note_level(records, level, size, layers::push_multilevel);
            counts[(level + 2) % 3] = 0;
        }
        const vertex_queue next = {shared_queue(level + 1), (unsigned)small_frontier, &counts[(level + 1) % 3]};
        for (int i = threadIdx.x; i < size; i += blockDim.x)
            claim_neighbours<false>(row_offsets, column_indices, levels, shared_queue(level)[i], level,
                                    [&](int found) { append_or_spill(next, global_queue(level + 1), found); });
        __syncthreads();
        ++level;
        size = *next.size;
    }
    for (int i = threadIdx.x; i < min(size, small_frontier); i += blockDim.x)
        global_queue(level)[i] = shared_queue(level)[i];
    if (threadIdx.x == 0) {
        state->sizes[level % 3] = size;
        state->sizes[(level + 1) % 3] = 0;
        state->level = level;
    }
}
