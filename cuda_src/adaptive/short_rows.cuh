// Rows of few arcs, on roads and lattices (SHORT_ROWS): a level of the cluster is a shorter chain of accesses. Offsets
// are not read, since the number of a vertex says where its arcs are; and a claim does not go to the L2 cache.
//
// Behind the column indices lie four more for each vertex, its *record*, and then again four if any row has more than
// that (short_rows.cu). A column index tells, besides the id, how many records the row of its vertex has. So a part of
// a queue points into one array, be it of a row or a record.
//
// While the cluster runs levels it has the bitmap in its own shared memory: as of queues, each block that of its
// regions.
#pragma once

#include "block_cluster.cuh"
#include "search.cuh"

static_assert(QUAD == 4 && !WIDE_OFFSETS && !TREE, "records are of four arcs, and of no place in COO");

// The records of a vertex: none if nothing is to be found by its arcs.
struct record_row {
    edge_t begin, distance;  // of the second from the first
    unsigned records;

    __device__ __forceinline__ unsigned parts() const { return records; }
    __device__ __forceinline__ part nth(unsigned i) const { return part{(offset_t)(begin + i * distance), QUAD}; }
};
typedef record_row found_row;
constexpr bool MAY_BE_LONG = false;  // whether a row may have more parts than a lane writes by itself

__device__ __forceinline__ record_row row_behind(const bfs &search, int entry) {
    const unsigned records = entry & NO_RECORD ? 0 : entry & TWO_RECORDS ? 2 : 1;
    const edge_t distance = (edge_t)QUAD * search.num_vertices;
    return {search.first_record + (edge_t)QUAD * neighbour_of(entry), distance, records};
}
// The same vertex' row among the others.
__device__ __forceinline__ cut_row<QUAD, OF_ROW> whole_row(const bfs &search, const record_row &row) {
    if (row.records == 0) return {0, 0};
    return search.row_of<cut_row<QUAD, OF_ROW>>((int)((row.begin - search.first_record) / QUAD));
}

// The bitmap. Regions of 2^region_shift ids are dealt out to the blocks; the host gives each block dynamic shared
// memory for all of its own, and regions are of whole quads of words.
struct cluster_bitmap {
    const bfs &search;
    unsigned *visited;  // where it is before and after
    int quads_shift = search.region_shift - 7;  // of a region

    __device__ __forceinline__ static uint4 *quads() {
        extern __shared__ uint4 quads_of_block[];
        return quads_of_block;
    }
    // Levels of many arcs, too, claim without a look, which would take as long.
    __device__ __forceinline__ unsigned look(int) const { return 0; }
    __device__ __forceinline__ unsigned claim(bool mine, int v) const {
        const unsigned quad = (unsigned)v / 128, region = quad >> quads_shift;
        const unsigned of_block = (region / CLUSTER_SIZE << quads_shift) + (quad & (1u << quads_shift) - 1);
        unsigned *const words = reinterpret_cast<unsigned *>(quads() + of_block);
        return mine ? atomicOr(in_block(&words[v / 32 % 4], region % CLUSTER_SIZE), 1u << v % 32) : ALL_LANES;
    }

    // Visit the quads of this block: visit(quad, which is its first word in the bitmap). For all threads.
    template <class Visit>
    __device__ __forceinline__ void visit_quads(Visit visit) const {
        const unsigned regions = ((search.words() - 1) / 4 >> quads_shift) + 1;
        const unsigned quads_of_block = (regions + CLUSTER_SIZE - 1) / CLUSTER_SIZE << quads_shift;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < quads_of_block; i += blockDim.x) {
            const unsigned region = (i >> quads_shift) * CLUSTER_SIZE + cluster_rank();
            const unsigned first = 4 * ((region << quads_shift) + (i & (1u << quads_shift) - 1));
            if (first < search.words()) visit(quads()[i], first);
        }
    }
    // Bring the bitmap into shared memory, or an empty one if the search begins. A barrier of the cluster follows.
    __device__ __noinline__ void load(bool empty) const {
        const unsigned words = search.words();
        visit_quads([&](uint4 &quad, unsigned first) {
            const auto word = [&](unsigned w) { return w < words ? visited[w] : 0; };
            if (empty)
                quad = uint4{0, 0, 0, 0};
            else if (first + 4 <= words)
                quad = *reinterpret_cast<const uint4 *>(&visited[first]);
            else
                quad = uint4{word(first), word(first + 1), word(first + 2), word(first + 3)};
        });
    }
    // Bring it back, with the bits that belong to no vertex. A barrier of the cluster has come before.
    __device__ __noinline__ void store() const {
        const unsigned words = search.words();
        visit_quads([&](const uint4 &quad, unsigned first) {
            if (first + 4 < words)
                *reinterpret_cast<uint4 *>(&visited[first]) = quad;
            else
                for (unsigned w = first; w < words; ++w)
                    visited[w] = reinterpret_cast<const unsigned *>(&quad)[w - first] |
                                 (w == words - 1 ? tail_bits(search.num_vertices) : 0);
        });
    }
};
