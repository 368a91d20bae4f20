// A barrier of all blocks that carries what they have found: a block that sees that all have arrived has the sums as
// well, without a further access.
//
// There are two words. Each block adds to both, to the first one with release:
//
//   [11 arrivals | 11 notices | 11 blocks that left vertices unqueued | 31 edges]
//   [11 arrivals | 27 parts queued | 26 vertices]
//
// A word is complete when it has as many arrivals as there are blocks; so each shows by itself that its sums are whole,
// in whatever order the two are read. A notice says that there is more to read in memory. Places in a queue are
// reserved in the second word itself.
//
// Memory: what a block wrote before it arrived is seen by every block that has passed, as at the barrier of
// barrier.cuh. The words serve once: they are zeroed before each use.
#pragma once

#include "atomics.cuh"
#include "barrier.cuh"
#include "tally.cuh"

// What a block has to say of a step. In shared memory: written by its threads, read after a barrier of the block.
struct step_result {
    block_tally found;
    unsigned notice, unqueued;  // 0 or 1
};

struct counted_barrier {
    unsigned long long edges_word, vertices_word;

    static constexpr int ARRIVALS = 53, NOTICES = 42, UNQUEUED = 31, QUEUED = 26;

    __device__ __forceinline__ static unsigned field(unsigned long long word, int from, int bits) {
        return (unsigned)(word >> from) & ((1u << bits) - 1);
    }
    // Reserve places in the queue, for one thread. Returns the first.
    __device__ __forceinline__ unsigned reserve(unsigned parts) {
        return field(atomicAdd(&vertices_word, (unsigned long long)parts << QUEUED), QUEUED, 27);
    }
    // For one thread of each block, after a barrier of it.
    __device__ __forceinline__ void arrive(const step_result &mine) {
        const unsigned long long one = 1, notice = mine.notice;
        const unsigned long long edges = mine.found.sum.edges, vertices = mine.found.sum.vertices;
        add_relaxed(&vertices_word, one << ARRIVALS | vertices);
        add_release(&edges_word, one << ARRIVALS | notice << NOTICES | (one * mine.unqueued) << UNQUEUED | edges);
    }
    // Wait until all blocks have arrived, for one thread of each that has. Returns whether they did in time; tells what
    // they have said: sums that begin with a tally, the parts queued, and whether a block left any unqueued.
    template <class Sums>
    __device__ __forceinline__ bool wait(Sums &sums, bool &notice, unsigned max_polls) const {
        for (unsigned polls = 0;; ++polls) {
            const unsigned long long vertices = load_relaxed(&vertices_word), edges = load_acquire(&edges_word);
            if (edges >> ARRIVALS == gridDim.x && vertices >> ARRIVALS == gridDim.x) {
                sums = {{(edge_t)field(edges, 0, 31), field(vertices, 0, 26)}, field(vertices, QUEUED, 27),
                        field(edges, UNQUEUED, 11) > 0};
                notice = field(edges, NOTICES, 11) > 0;
                return true;
            }
            if (polls >= max_polls) return false;
            if (polls > 64) __nanosleep(500);  // a long wait: poll less often, to free memory bandwidth
        }
    }
};
