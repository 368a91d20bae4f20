// If LIKELY_FIRST is set, a pulled level first reads only the first in-neighbour of each vertex. The kernels of
// likely_parents.cu have sorted the in-neighbours of each vertex, so that the likeliest parent comes first. They have
// also copied the first in-neighbour of every vertex into one array. A warp reads the first in-neighbours of 32
// vertices with one access. Most vertices find a parent in this way. Only the remaining vertices read their rows.
#pragma once

#include "pull_lists.cuh"

constexpr int LIKELY_ALIGNMENT = 32;
constexpr int LOOK_WORDS = 4;  // words of the bitmap for which a warp has loads in flight together
// A warp may take several words of the bitmap at a time if its next 32 words together have at most
// FEW_FIRST_BITS set bits.
constexpr unsigned FEW_FIRST_BITS = 8 * 32;

// The warp needs the degrees of vertices only to count arcs. With MANY_VERTICES it reads the degrees only for
// every SAMPLED-th word of the bitmap, and multiplies them by SAMPLED. The counts are then estimates, and
// only the choice of the next step depends on them.
constexpr unsigned SAMPLED = MANY_VERTICES ? 8 : 1;

// Returns the array with the first in-neighbour of each vertex. The array follows the rows, and begins at the next
// multiple of LIKELY_ALIGNMENT. The element of a vertex without in-neighbours is UNREACHED.
__device__ __forceinline__ const int *first_parents(const bfs &search) {
    const edge_t end = search.row_indices_end;
    return search.row_indices + ((end + LIKELY_ALIGNMENT - 1) & ~(edge_t)(LIKELY_ALIGNMENT - 1));
}

// Checks for each vertex in the block's words of the bitmap whether its first in-neighbour is reached. All
// warps of the block must call this function. Each warp takes the words that it also takes in pull_rows, so
// __syncwarp suffices between the two functions. With MANY_VERTICES, the first pulled level records in `open`
// which vertices have in-neighbours. The function then also stores "unreached" for vertices whose first
// in-neighbour is not reached, so that warps write whole sectors.
__device__ __forceinline__ void look_at_first(const bfs &search, const unsigned *visited, pull_lists &lists,
                                              const word_share &share, int level, bool first, tally &found,
                                              tally &unreached) {
    candidates next = {search, visited, lists, share, first};
    for (next.at.batch = 0; next.read_batch(FEW_FIRST_BITS); ++next.at.batch) {
        __syncwarp();  // all lanes have read fresh() before any lane writes it
        const bool opens = MANY_VERTICES && first;
        unsigned open = 0;  // the new value of this lane's word of search.open
        while (next.at.pending) {
            unsigned slots[LOOK_WORDS], parent_words[LOOK_WORDS];
            int parents[LOOK_WORDS];
            bool mine[LOOK_WORDS];
            offset_t begins[LOOK_WORDS], ends[LOOK_WORDS];
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const unsigned owner = __ffs(next.at.pending) - 1;
                mine[i] = next.at.pending && next.take();
                const int v = share.vertex(slots[i] = next.at.slot);
                const bool counts = mine[i] && slots[i] / 32 % SAMPLED == 0;
                parents[i] = mine[i] ? __ldg(&first_parents(search)[v]) : UNREACHED;
                begins[i] = counts ? __ldg(&search.column_offsets[v]) : 0;
                ends[i] = counts ? __ldg(&search.column_offsets[v + 1]) : 0;
                if (!opens) continue;
                const unsigned its = __ballot_sync(ALL_LANES, parents[i] >= 0);
                if (threadIdx.x % 32 == owner) open = its;
            }
            for (int i = 0; i < LOOK_WORDS; ++i) parent_words[i] = parents[i] < 0 ? 0 : visited[parents[i] / 32];
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const bool hit = parent_words[i] >> (parents[i] & 31) & 1;
                const unsigned hits = __ballot_sync(ALL_LANES, hit);
                if (opens && !hit && mine[i]) search.answer.unreached(share.vertex(slots[i]));
                if (!hit) continue;
                if (next.together)
                    atomicOr(&lists.fresh()[slots[i] / 32], 1u << slots[i] % 32);
                else if (threadIdx.x % 32 == __ffs(hits) - 1)
                    lists.fresh()[slots[i] / 32] = hits;
                search.reach(share.vertex(slots[i]), level + 1, parents[i]);
                const edge_t degrees = SAMPLED * (edge_t)(ends[i] - begins[i]);
                found.count(degrees);
                unreached.count(degrees);
            }
        }
        if (opens && next.at.words != 0) search.open[share.word(next.at.nth_word(threadIdx.x % 32))] = open;
    }
    __syncwarp();
}
