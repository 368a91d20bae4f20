// push_multilevel: consecutive small levels in one launch (PMPP ch. 15, Fig. 15.16 B).
//
// A level whose frontier a block can hold is not worth a launch. push_multilevel is one block that runs level after
// level with a barrier between them, the frontiers in its shared memory, until one has more than small_frontier
// vertices or none. Larger levels are launched one by one, by push_private's kernel. The host switches by the sizes
// of the frontiers.
//
// Between launches the frontier of a level lies in the global queue of the level's parity, its length in
// sizes[level % 3]. Inside, vertex i of the frontier lies at i in the shared queue of that parity, as long as there
// is room, and at i in the global queue otherwise. So a level that outgrows the shared queue is completed like any
// other, and handed over by copying the shared part in front of the rest.
//
// Invariants. A vertex is claimed by one thread only, so a global queue of V entries cannot overflow. There are no
// races: a level reads the queues of its own parity and appends to those of the other; and its counter, modulo 3, is
// read by all while the next one's is grown and the one after that, which no thread reads, is cleared. So one
// barrier a level is enough.
//
// Cost. A level is a chain of dependent accesses: queue entry, row offsets, neighbours, claim, append. A thread
// keeps several of the last three in flight (see claim.cuh). On road networks on an H200 it gained nothing to load or
// prefetch a vertex's row offsets when it is claimed, nor to look at a neighbour's level before claiming it.
#include "claim.cuh"
#include "profile.cuh"
#include "queue.cuh"

// Put a vertex at the next place of the shared queue, or at the same place of the global one if that is beyond the
// shared queue's capacity.
__device__ __forceinline__ void append_or_spill(const vertex_queue &queue, int *spill, int vertex) {
    const unsigned position = atomicAdd(queue.size, 1);
    (position < queue.capacity ? queue.entries : spill)[position] = vertex;
}

struct queue_sizes {
    int sizes[3];  // as push_private leaves and expects them
    int level;     // of the frontier handed back
};

// Run levels from one on whose frontier has 1 .. small_frontier vertices.
extern "C" __global__ void push_multilevel(const offset_t *row_offsets, const int *column_indices, int *levels,
                                           int small_frontier, int *even_queue, int *odd_queue, queue_sizes *state,
                                           level_record *records, int level) {
    extern __shared__ int local_frontier[];  // for even levels, then for odd ones
    __shared__ int counts[3];
    auto shared_queue = [&](int level) { return local_frontier + level % 2 * small_frontier; };
    auto global_queue = [&](int level) { return level % 2 ? odd_queue : even_queue; };

    int size = state->sizes[level % 3];
    for (int i = threadIdx.x; i < size; i += blockDim.x) shared_queue(level)[i] = global_queue(level)[i];
    if (threadIdx.x == 0) counts[(level + 1) % 3] = 0;
    __syncthreads();
    while (size > 0 && size <= small_frontier) {
        if (threadIdx.x == 0) {
            note_level(records, level, size, LAYER_PUSH_MULTILEVEL);
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
