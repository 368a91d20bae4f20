// likely_parents: sorts the in-neighbours of each vertex by out-degree, highest first, for pulled levels.
//
// A vertex with many arcs is often reached early, so the vertex is a likely parent. A pulled vertex finds a parent
// soon if likely parents come first in its row. The kernels sort each row with a counting sort, by the number of
// leading zeros of the out-degrees. A warp sorts a short row, and a block sorts a long row. In-neighbours with
// equal numbers of leading zeros are in no particular order. After the rows, from index `first_of` on, the result
// also holds the first in-neighbour of each vertex (first_looks.cuh).
//
// The host defines LONG_ROW, the number of arcs from which on a block sorts a row.
#include "graph.cuh"
#include "prefix_sum.cuh"

// The number of classes of out-degrees, one class per lane. The first class has the highest degrees, 2^31 or
// more.
constexpr int CLASSES = WARP;

struct in_neighbours {
    const offset_t *row_offsets, *column_offsets;
    const int *row_indices;
    int *ordered;
    int *likely;  // the first in-neighbour of each vertex or, without in-neighbours, UNREACHED

    __device__ __forceinline__ edge_t begin(unsigned v) const { return column_offsets[v]; }
    __device__ __forceinline__ edge_t end(unsigned v) const { return column_offsets[v + 1]; }
    // Returns the class of the out-degree of `u`: its number of leading zeros in 32 bits.
    __device__ __forceinline__ unsigned class_of(int u) const {
        const long long degree = row_offsets[u + 1] - row_offsets[u];
        return max(__clzll(degree) - 32, 0);
    }
};

// The two kinds of teams that can sort a row: a warp, and a block.
struct a_warp {
    __device__ __forceinline__ static unsigned thread() { return threadIdx.x % WARP; }
    __device__ __forceinline__ static unsigned threads() { return WARP; }
    __device__ __forceinline__ static void meet() { __syncwarp(); }
};
struct a_block {
    __device__ __forceinline__ static unsigned thread() { return threadIdx.x; }
    __device__ __forceinline__ static unsigned threads() { return blockDim.x; }
    __device__ __forceinline__ static void meet() { __syncthreads(); }
};

// Sorts the in-neighbours of vertex `v` by the class of their out-degree, highest degrees first. All threads
// of a team must call this function. `places` is scratch memory of the team, with one number per class.
template <class Team>
__device__ __forceinline__ void order_row(const in_neighbours &of, unsigned v, edge_t *places) {
    const unsigned thread = Team::thread(), threads = Team::threads();
    const edge_t begin = of.begin(v), end = of.end(v);
    if (thread < CLASSES) places[thread] = 0;
    Team::meet();
    for (edge_t e = begin + thread; e < end; e += threads) atomicAdd(&places[of.class_of(of.row_indices[e])], 1);
    Team::meet();
    if (thread < CLASSES) {  // CLASSES is the size of a warp, so whole warps enter
        const warp_lanes warp(thread);
        places[thread] = begin + inclusive_sum(warp, places[thread]) - places[thread];
    }
    Team::meet();
    for (edge_t e = begin + thread; e < end; e += threads) {
        const int u = of.row_indices[e];
        const edge_t place = atomicAdd(&places[of.class_of(u)], 1);
        of.ordered[place] = u;
        if (place == begin) of.likely[v] = u;
    }
    Team::meet();
}

// Sorts the in-neighbours within each row by the class of their out-degree, except in long rows. Appends the
// vertices of long rows to `long_rows`, whose first element counts them. The host sets this element to 0
// before the launch.
extern "C" __global__ void __launch_bounds__(1024)
    order_rows(const offset_t *row_offsets, const offset_t *column_offsets, const int *row_indices, int num_vertices,
               int *ordered, offset_t first_of, int *long_rows) {
    __shared__ edge_t places[MAX_WARPS][CLASSES];
    const in_neighbours of = {row_offsets, column_offsets, row_indices, ordered, ordered + first_of};
    for (unsigned v = global_thread() / 32; v < num_vertices; v += grid_threads() / 32) {
        const edge_t length = of.end(v) - of.begin(v);
        if (length < LONG_ROW)
            order_row<a_warp>(of, v, places[threadIdx.x / 32]);
        else if (threadIdx.x % 32 == 0)
            long_rows[1 + atomicAdd(long_rows, 1)] = v;
        if (length == 0 && threadIdx.x % 32 == 0) of.likely[v] = UNREACHED;
    }
}

// Sorts the long rows that order_rows has listed in `long_rows`, one block per row.
extern "C" __global__ void __launch_bounds__(1024)
    order_long_rows(const offset_t *row_offsets, const offset_t *column_offsets, const int *row_indices, int num_vertices,
                    int *ordered, offset_t first_of, const int *long_rows) {
    __shared__ edge_t places[CLASSES];
    const in_neighbours of = {row_offsets, column_offsets, row_indices, ordered, ordered + first_of};
    for (unsigned i = blockIdx.x; i < long_rows[0]; i += gridDim.x) order_row<a_block>(of, long_rows[1 + i], places);
}
