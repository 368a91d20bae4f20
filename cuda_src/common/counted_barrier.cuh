// A barrier of all blocks that carries what they have found: a block that sees that all have arrived has the sums as
// well, without a further access.
//
// There are three words. Each block adds to all, to the first one with release:
//
//   [11 arrivals | 11 notices | 42 edges]
//   [11 arrivals | 11 blocks that left vertices unqueued | 42 vertices]
//   [11 arrivals | 53 parts queued]
//
// A word is complete when it has as many arrivals as there are blocks; so each shows by itself that its sums are whole,
// in whatever order they are read. A notice says that there is more to read in memory. Places in a queue are reserved
// in the third word itself.
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
    unsigned long long edges_word, vertices_word, parts_word;

    static constexpr int ARRIVALS = 53, FLAGS = 42;
    static constexpr unsigned long long ONE = 1;

    __device__ __forceinline__ static bool flagged(unsigned long long word) { return (word >> FLAGS & 0x7ff) > 0; }
    // Reserve places in the queue, for one thread. Returns the first.
    __device__ __forceinline__ unsigned reserve(unsigned parts) {
        return (unsigned)atomicAdd(&parts_word, (unsigned long long)parts);
    }
    // For one thread of each block, after a barrier of it.
    __device__ __forceinline__ void arrive(const step_result &mine) {
        add_relaxed(&parts_word, ONE << ARRIVALS);
        add_relaxed(&vertices_word, ONE << ARRIVALS | (ONE * mine.unqueued) << FLAGS | mine.found.sum.vertices);
        add_release(&edges_word, ONE << ARRIVALS | (ONE * mine.notice) << FLAGS | mine.found.sum.edges);
    }
    // Wait until all blocks have arrived, for one thread of each that has. Returns whether they did in time; tells what
    // they have said: sums that begin with a tally, the parts queued, and whether a block left any unqueued.
    template <class Sums>
    __device__ __forceinline__ bool wait(Sums &sums, bool &notice, unsigned max_polls) const {
        for (unsigned polls = 0;; ++polls) {
            const unsigned long long parts = load_relaxed(&parts_word), vertices = load_relaxed(&vertices_word);
            const unsigned long long edges = load_acquire(&edges_word);
            const unsigned blocks = gridDim.x;
            if (parts >> ARRIVALS == blocks && vertices >> ARRIVALS == blocks && edges >> ARRIVALS == blocks) {
                const unsigned long long below_flags = (ONE << FLAGS) - 1;
                sums = {{(edge_t)(edges & below_flags), (unsigned)vertices}, (unsigned)parts, flagged(vertices)};
                notice = flagged(edges);
                return true;
            }
            if (polls >= max_polls) return false;
            if (polls > 64) __nanosleep(500);  // a long wait: poll less often, to free memory bandwidth
        }
    }
};
