// A barrier of all blocks that also adds up counts of all blocks. A barrier consists of three words. A block
// that sees all arrivals has also read the sums. So all blocks make the same decision on the next step, and
// no block sends a decision to other blocks.
//
// Each block adds to all three words. The addition to the edges word is a release, and comes last:
//
//   [11 bits: arrivals | 11: notices | 42: edges]
//   [11 bits: arrivals | 11: blocks that left vertices unqueued | 42: vertices]
//   [11 bits: arrivals | 53: parts queued]
//
// Bits 53 and above of each word count arrivals. A word is complete when this count equals the number of
// blocks, which is at most 2047. So the order of reading the three words does not matter. A block that sets a
// notice asks all blocks to read further words of the frontier in global memory. Warps reserve places in a
// queue by adding to the parts word before their block arrives.
//
// Memory order: each block arrives with a release, and leaves with an acquire. So all writes of a block
// before its arrival are visible to every block that has passed the barrier. Each word serves one step, and
// must be 0 before that step. The file barrier.cuh has a different barrier, and here provides only
// add_release and load_acquire.
#pragma once

#include "atomics.cuh"
#include "barrier.cuh"
#include "tally.cuh"

// The counts of a step that a block reports to all other blocks, in shared memory. Warps add to the counts.
// The first thread of the block reads the counts after a barrier of the block.
struct step_result {
    block_tally found;
    unsigned notice, unqueued;  // each is 1 if the block reports a notice or unqueued vertices
};

struct counted_barrier {
    unsigned long long edges_word, vertices_word, parts_word;

    static constexpr int ARRIVALS = 53, FLAGS = 42;
    static constexpr unsigned long long ONE = 1;

    __device__ __forceinline__ static bool flagged(unsigned long long word) { return (word >> FLAGS & 0x7ff) > 0; }
    // Reserves `parts` places in the queue. Returns the first of these places.
    __device__ __forceinline__ unsigned reserve(unsigned parts) {
        return (unsigned)atomicAdd(&parts_word, (unsigned long long)parts);
    }
    // Counts this block's arrival in all three words. Also adds the block's vertices
    // and `unqueued` to vertices_word, and its edges and `notice` to edges_word. One
    // thread of each block calls this function, after a barrier of the block.
    __device__ __forceinline__ void arrive(const step_result &mine) {
        add_relaxed(&parts_word, ONE << ARRIVALS);
        add_relaxed(&vertices_word, ONE << ARRIVALS | (ONE * mine.unqueued) << FLAGS | mine.found.sum.vertices);
        add_release(&edges_word, ONE << ARRIVALS | (ONE * mine.notice) << FLAGS | mine.found.sum.edges);
    }
    // Waits until all blocks have arrived, and then returns true. Returns false if blocks are still missing
    // after max_polls + 1 polls. If all have arrived, the first members of `sums` become the sums over all
    // blocks: a tally, the number of queued parts, and whether any block left vertices unqueued. The other
    // members of `sums` become 0. `notice` becomes true if any block has set a notice. One thread of each
    // block calls this function.
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
            if (polls > 64) __nanosleep(500);  // after 64 polls, poll less often to free memory bandwidth
        }
    }
};
