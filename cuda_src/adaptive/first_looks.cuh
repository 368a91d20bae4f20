// First looks of a pulled level. With LIKELY_FIRST the host has ordered in-neighbours so that the likeliest parent is
// first (likely_parents.cu), and has put the first ones together besides: one access of a warp brings those of 32
// vertices, another two their offsets, and one look at the bitmap is all that most need. Only the others read their
// rows.
#pragma once

#include "pull_lists.cuh"

constexpr int LOOK_WORDS = 4;  // words of the bitmap whose vertices take their first look together

// The first in-neighbour of each vertex, or itself: behind the rows, from a multiple of LIKELY_ALIGNMENT on.
__device__ __forceinline__ const int *first_parents(const bfs &search) {
    const edge_t end = search.row_indices_end;
    return search.row_indices + ((end + LIKELY_ALIGNMENT - 1) & ~(edge_t)(LIKELY_ALIGNMENT - 1));
}

// Let the vertices of a block's share look at their first in-neighbours: for all its warps. Each has words of its own,
// the same ones as in pull_rows. What a few words need is asked for together.
__device__ __forceinline__ void look_at_first(const bfs &search, const unsigned *visited, pull_lists &lists,
                                              const word_share &share, int level, bool first, tally &found,
                                              tally &unreached) {
    candidates next = {search, visited, lists, share, first};
    for (next.at.batch = 0; next.read_batch(); ++next.at.batch) {
        __syncwarp();  // what is read of `fresh` has been read
        while (next.at.pending) {
            unsigned slots[LOOK_WORDS], parent_words[LOOK_WORDS];
            int parents[LOOK_WORDS];
            offset_t begins[LOOK_WORDS], ends[LOOK_WORDS];
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const bool mine = next.at.pending && next.at.take_word();
                const int v = share.vertex(slots[i] = next.at.slot);
                parents[i] = mine ? __ldg(&first_parents(search)[v]) : -1;
                begins[i] = mine ? __ldg(&search.column_offsets[v]) : 0;
                ends[i] = mine ? __ldg(&search.column_offsets[v + 1]) : 0;
            }
            for (int i = 0; i < LOOK_WORDS; ++i) parent_words[i] = parents[i] < 0 ? 0 : visited[parents[i] / 32];
            for (int i = 0; i < LOOK_WORDS; ++i) {
                const bool hit = parent_words[i] >> (parents[i] & 31) & 1;
                const unsigned hits = __ballot_sync(ALL_LANES, hit);
                if (!hit) continue;
                if (threadIdx.x % 32 == __ffs(hits) - 1) lists.fresh[slots[i] / 32] = hits;
                search.reach(share.vertex(slots[i]), level + 1, parents[i]);
                found.count(ends[i] - begins[i]);
                unreached.count(ends[i] - begins[i]);
            }
        }
    }
    __syncwarp();
}
