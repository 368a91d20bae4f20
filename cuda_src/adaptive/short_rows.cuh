// Records for graphs with short rows, such as roads and lattices (SHORT_ROWS). Records shorten a level of a
// cluster, because the cluster reads no offsets: the id of a vertex gives the place of its record. Claims are
// also faster, because the cluster has the bitmap of reached vertices in shared memory instead of the L2
// cache.
//
// The records follow after the column indices. Each vertex has a record of four entries, and a second record if any
// row of the graph has more than four arcs (short_rows.cu). An entry holds the id of a neighbour, and how many
// records of the neighbour a search must read. Rows and records are in one array, so a queue entry can point to a
// row or to a record.
//
// While the cluster runs levels, the bitmap is in the shared memory of the cluster's blocks. Each block holds
// the bits of its own regions of neighbouring ids. Each RUN_LEVELS step clears or loads this bitmap, and
// stores it at its end.
#pragma once

#include "block_cluster.cuh"
#include "search.cuh"

static_assert(QUAD == 4 && !WIDE_OFFSETS && !TREE, "records are of four arcs, and of no place in COO");

// The records of a vertex that a search must read: none, one or two. There are none to read if the vertex's arcs
// cannot lead to a new vertex.
struct record_row {
    edge_t begin, distance;  // `distance` is from the first record to the second record
    unsigned records;

    __device__ __forceinline__ unsigned parts() const { return records; }
    __device__ __forceinline__ part nth(unsigned i) const { return part{(offset_t)(begin + i * distance), QUAD}; }
};
typedef record_row found_row;
constexpr bool MAY_BE_LONG = false;  // a row has at most two records

__device__ __forceinline__ record_row row_behind(const bfs &search, int entry) {
    const unsigned records = entry & NO_RECORD ? 0 : entry & TWO_RECORDS ? 2 : 1;
    const edge_t distance = (edge_t)QUAD * search.num_vertices;
    return {search.first_record + (edge_t)QUAD * neighbour_of(entry), distance, records};
}
// Returns the vertex's row in the column indices, or an empty row if the vertex has no records to read. Only
// rows that are spilled need this function, because spilling cuts rows, not records, into parts of up to PART
// arcs. Records that the cluster has already queued go to global memory unchanged.
__device__ __forceinline__ cut_row<QUAD, OF_ROW> whole_row(const bfs &search, const record_row &row) {
    if (row.records == 0) return {0, 0};
    return search.row_of<cut_row<QUAD, OF_ROW>>((int)((row.begin - search.first_record) / QUAD));
}

// The bitmap of reached vertices, if SHORT_ROWS is 1. The threads of a cluster claim vertices in it. The
// bitmap is divided into regions of neighbouring vertex ids, and each block of the cluster keeps its regions
// in dynamic shared memory. A region consists of quads, which are groups of four words. (If SHORT_ROWS is 0,
// `cluster_bitmap` of cluster.cuh is used instead.)
struct cluster_bitmap {
    const bfs &search;
    unsigned *visited;  // the bitmap in global memory, which load() reads and store() writes
    // The bits of a region of neighbouring ids fill 2^quads_shift quads of four words.
    int quads_shift = search.region_shift - 7;

    __device__ __forceinline__ static uint4 *quads() {
        extern __shared__ uint4 quads_of_block[];
        return quads_of_block;
    }
    // Returns 0, so that callers always claim the vertex. In shared
    // memory, a claim takes no longer than reading the bit first.
    __device__ __forceinline__ unsigned look(int) const { return 0; }
    __device__ __forceinline__ unsigned claim(bool mine, int v) const {
        const unsigned quad = (unsigned)v / 128, region = quad >> quads_shift;
        const unsigned of_block = (region / CLUSTER_SIZE << quads_shift) + (quad & (1u << quads_shift) - 1);
        unsigned *const words = reinterpret_cast<unsigned *>(quads() + of_block);
        return mine ? atomicOr(in_block(&words[v / 32 % 4], region % CLUSTER_SIZE), 1u << v % 32) : ALL_LANES;
    }

    // Calls visit(quad, first) for each quad (four words) of this block. `first` is the index of the quad's
    // first word in the bitmap. All threads of the block must call this function.
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
    // Loads the bitmap into shared memory, or clears the shared bitmap if `empty`. All threads of the block
    // must call this function, and then pass a barrier of the cluster.
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
    // Stores the bitmap to global memory, and sets the bits that belong to no vertex. All threads of the
    // block must call this function, after a barrier of the cluster that follows the last claim.
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
