// linear_work: the optimised linear-work search of the project report for the course CSE 6230. A level copies all
// neighbours of the frontier to one array, and marks the unreached ones in a mask. The marked vertices become the
// next frontier. Prefix sums give the places in the array and in the frontier.
//
// A level has these launches:
//
// - count_neighbours stores the degrees of the frontier's vertices.
// - A prefix sum gives each vertex the place of its first neighbour in the gathered array (scan.cuh).
// - gather_serial or gather_fine copies all neighbours to the gathered array. Before gather_fine, find_starts may
// look up where each tile begins.
// - generate_mask marks neighbours without a level, one flag per vertex, which removes duplicates.
// - set_levels gives marked vertices their level, and copies the mask for its prefix sum.
// - A prefix sum gives each marked vertex its place in the next frontier.
// - compact puts marked vertices into the next frontier, and clears the mask.
//
// The last three launches (set_levels, the prefix sum and compact) read every vertex. If few neighbours were
// gathered, one launch of filter_sequentially replaces all launches from generate_mask on.
//
// Invariant: only vertices without a level are marked, and each marked vertex gets a level. So a vertex enters one
// frontier, once. A frontier has at most V entries, and the gathered array at most E entries.
//
// Races: in generate_mask several threads may mark one vertex; all of them store `true`.
#include "graph.cuh"
#define SCAN_TYPE offset_t
#include "counts.cuh"
#include "scan.cuh"

// Stores the degrees of the frontier's vertices in `offsets`. The last entry of `offsets` is an additional 0,
// which the prefix sum turns into the sum of all degrees.
extern "C" __global__ void count_neighbours(const offset_t *__restrict__ row_offsets,
                                            const int *__restrict__ frontier, offset_t *offsets, int frontier_size) {
    for (unsigned i = global_thread(); i <= frontier_size; i += grid_threads())
        offsets[i] = i < frontier_size ? row_offsets[frontier[i] + 1] - row_offsets[frontier[i]] : 0;
}

// Copies the neighbours of the frontier to the gathered array, with one thread per vertex of the frontier.
extern "C" __global__ void gather_serial(const offset_t *__restrict__ row_offsets,
                                         const int *__restrict__ column_indices, const int *__restrict__ frontier,
                                         const offset_t *__restrict__ offsets, int *gathered, int frontier_size) {
    for (unsigned i = global_thread(); i < frontier_size; i += grid_threads()) {
        const edge_t begin = row_offsets[frontier[i]], end = row_offsets[frontier[i] + 1];
        for (edge_t e = begin; e < end; ++e) gathered[offsets[i] + (e - begin)] = column_indices[e];
    }
}

// Returns the index, in the frontier, of the vertex whose neighbours include the element at index `place` of
// the gathered array.
__device__ __forceinline__ int vertex_at(const offset_t *offsets, int frontier_size, edge_t place) {
    int low = 0, high = frontier_size;  // invariant: offsets[low] <= place < offsets[high]
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (offsets[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Stores, for every tile of the gathered array, the index in the frontier of the vertex that contributes the
// tile's first element. A vertex with many neighbours may contribute the first elements of many tiles.
extern "C" __global__ void find_starts(const offset_t *__restrict__ offsets, int *starts, int tile,
                                       int frontier_size) {
    for (unsigned i = global_thread(); i < frontier_size; i += grid_threads()) {
        const edge_t end = offsets[i + 1];
        for (edge_t t = ((edge_t)offsets[i] + tile - 1) / tile; t * tile < end; ++t) starts[t] = i;
    }
}

// Copies the neighbours of the frontier to the gathered array, tile by tile. A tile has GATHER_TILE_SIZE
// places per thread of the block. First the threads store the edge index for each place of the tile in shared
// memory. Then they copy the neighbours in order of the places. If `starts` is null, a thread searches for
// the tile's first vertex.
extern "C" __global__ void gather_fine(const offset_t *__restrict__ row_offsets,
                                       const int *__restrict__ column_indices, const int *__restrict__ frontier,
                                       const offset_t *__restrict__ offsets, int *gathered,
                                       const int *__restrict__ starts, int frontier_size) {
    extern __shared__ edge_t edges[];
    __shared__ int start;
    const edge_t tile = GATHER_TILE_SIZE * blockDim.x, total = offsets[frontier_size];
    // The loop's bounds are equal for all threads of a block, so that all threads of the block meet at the
    // barriers.
    for (edge_t first = blockIdx.x * tile; first < total; first += gridDim.x * tile) {
        const edge_t last = min(first + tile, total);
        if (threadIdx.x == 0)
            start = starts != nullptr ? starts[first / tile] : vertex_at(offsets, frontier_size, first);
        __syncthreads();
        for (unsigned i = start + threadIdx.x; i < frontier_size && offsets[i] < last; i += blockDim.x) {
            const edge_t row = row_offsets[frontier[i]], begin = offsets[i], end = offsets[i + 1];
            for (edge_t place = max(begin, first); place < min(end, last); ++place)
                edges[place - first] = row + (place - begin);
        }
        __syncthreads();
        for (edge_t place = first + threadIdx.x; place < last; place += blockDim.x)
            gathered[place] = column_indices[edges[place - first]];
        __syncthreads();
    }
}

extern "C" __global__ void generate_mask(const int *__restrict__ gathered, const offset_t *__restrict__ offsets,
                                         const int *__restrict__ levels, bool *mask, int frontier_size) {
    const edge_t total = offsets[frontier_size];
    for (edge_t i = global_thread(); i < total; i += grid_threads())
        if (levels[gathered[i]] == UNREACHED) mask[gathered[i]] = true;  // benign race between stores: all store `true`
}

extern "C" __global__ void set_levels(int num_vertices, const bool *__restrict__ mask, int *levels,
                                      offset_t *mask_scan, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        mask_scan[v] = mask[v];
        if (mask[v]) levels[v] = level + 1;
    }
}

extern "C" __global__ void compact(const offset_t *__restrict__ row_offsets, int num_vertices,
                                   const offset_t *__restrict__ mask_scan, bool *mask, int *frontier,
                                   search_counts *reached) {
    unsigned vertices = 0;
    unsigned long long edges = 0;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (!mask[v]) continue;
        mask[v] = false;
        frontier[mask_scan[v]] = v;
        ++vertices;
        edges += row_offsets[v + 1] - row_offsets[v];
    }
    add_block(reached, vertices, edges);
}

// Puts the unreached vertices among the gathered neighbours into the frontier. One block does all the work, so the
// host launches the kernel only if few neighbours were gathered. Threads claim unreached neighbours and mark them in
// shared memory. Then one thread fills the frontier with the marked vertices.
extern "C" __global__ void filter_sequentially(const offset_t *__restrict__ row_offsets,
                                               const int *__restrict__ gathered,
                                               const offset_t *__restrict__ offsets, int *levels, int *frontier,
                                               search_counts *reached, int frontier_size, int level) {
    extern __shared__ bool is_new[];
    unsigned vertices = 0;
    unsigned long long edges = 0;
    // The total must not exceed the length of is_new[].
    const unsigned total = static_cast<unsigned>(offsets[frontier_size]);
    for (unsigned i = threadIdx.x; i < total; i += blockDim.x) {
        const int v = gathered[i];
        const bool open = levels[v] == UNREACHED;  // benign race: if the read is stale, the claim fails
        is_new[i] = open && atomicCAS(&levels[v], UNREACHED, level + 1) == UNREACHED;
        if (!is_new[i]) continue;
        ++vertices;
        edges += row_offsets[v + 1] - row_offsets[v];
    }
    add_block(reached, vertices, edges);
    if (threadIdx.x != 0) return;
    for (unsigned i = 0, size = 0; i < total; ++i)
        if (is_new[i]) frontier[size++] = gathered[i];
}
