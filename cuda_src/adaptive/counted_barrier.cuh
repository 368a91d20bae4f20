// The barrier of all blocks between two steps, which carries what they have found: a block that sees that all have
// arrived has the sums as well, without a further access.
//
// There are two words. Each block adds to both, to the first one with release:
//
//   [11 arrivals | 11 notices | 11 blocks that left vertices unqueued | 31 edges]
//   [11 arrivals | 27 parts queued | 26 vertices]
//
// A word is complete when it has as many arrivals as there are blocks; so each shows by itself that its sums are whole,
// in whatever order the two are read. A notice says that there is more to read in memory. Places in the queue are
// reserved in the second word itself. With COUNTS_FIT=0 the sums are too large for that (the host says so), and are
// left in memory, with a notice.
//
// Memory: what a block wrote before it arrived is seen by every block that has passed, as at the barrier of barrier.cuh.
#pragma once

#include "atomics.cuh"
#include "barrier.cuh"
#include "tally.cuh"

// What a block has to say of a step. In shared memory: written by one thread, read after a barrier of the block.
struct step_result {
    tally found;
    unsigned notice, unqueued;  // 0 or 1
};

// What is known of a frontier when all have arrived.
struct frontier {
    tally found;      // a cluster that hands a frontier on counts parts for vertices
    unsigned queued;  // parts
    int unqueued;     // not all of it has been queued, but it can be
    int must_pull;    // not all of it has been queued, nor can it be
    unsigned rests;   // pieces of long rows that are left of the level that found it
};

// The same while blocks add to it, in global memory.
struct next_frontier {
    unsigned long long edges_word, vertices_word;
    tally found;      // if COUNTS_FIT=0
    unsigned queued;  // likewise
    int must_pull;
    unsigned rests;
    unsigned queued_units;  // of edges, see edge_limit

    static constexpr int ARRIVALS = 53, NOTICES = 42, UNQUEUED = 31, QUEUED = 26;
    static constexpr unsigned MOST_BLOCKS = (1u << 11) - 1;

    __device__ __forceinline__ static unsigned field(unsigned long long word, int from, int bits) {
        return (unsigned)(word >> from) & ((1u << bits) - 1);
    }
    // Reserve places in the queue, for one thread. Returns the first.
    __device__ __forceinline__ unsigned reserve(unsigned parts) {
        if (!COUNTS_FIT) return atomicAdd(&queued, parts);
        return field(atomicAdd(&vertices_word, (unsigned long long)parts << QUEUED), QUEUED, 27);
    }
    // For one thread of each block, after a barrier of it.
    __device__ __forceinline__ void arrive(const step_result &mine) {
        if (!COUNTS_FIT && mine.found.vertices > 0) {
            atomicAdd(&found.edges, mine.found.edges);
            atomicAdd(&found.vertices, mine.found.vertices);
        }
        const unsigned long long one = 1, notice = COUNTS_FIT ? mine.notice : 1;
        const unsigned long long edges = COUNTS_FIT ? mine.found.edges : 0, vertices = COUNTS_FIT ? mine.found.vertices : 0;
        add_relaxed(&vertices_word, one << ARRIVALS | vertices);
        add_release(&edges_word, one << ARRIVALS | notice << NOTICES | (one * mine.unqueued) << UNQUEUED | edges);
    }
    // Wait until all blocks have arrived, for one thread of each that has. Returns whether they did in time; tells what
    // they have found, and whether there was a notice.
    __device__ __forceinline__ bool wait(frontier &now, bool &notice, unsigned max_polls) const {
        for (unsigned polls = 0;; ++polls) {
            const unsigned long long vertices = load_relaxed(&vertices_word), edges = load_acquire(&edges_word);
            if (edges >> ARRIVALS == gridDim.x && vertices >> ARRIVALS == gridDim.x) {
                now = {{(edge_t)field(edges, 0, 31), field(vertices, 0, 26)},
                       field(vertices, QUEUED, 27), field(edges, UNQUEUED, 11) > 0, 0, 0};
                notice = field(edges, NOTICES, 11) > 0;
                return true;
            }
            if (polls >= max_polls) return false;
            if (polls > 64) __nanosleep(500);  // a long wait: poll less often, to free memory bandwidth
        }
    }
    // What a notice is about, for one thread of each block that has waited.
    __device__ __forceinline__ void read(frontier &now) const {
        if (!COUNTS_FIT) {
            now.found = {load_relaxed(&found.edges), load_relaxed(&found.vertices)};
            now.queued = load_relaxed(&queued);
        }
        now.must_pull = load_relaxed(&must_pull);
        now.rests = load_relaxed(&rests);
    }
};
