// Distributes the rows of a frontier over the threads of a kernel (Busato and Bombieri 2014, sections 5.2 to 5.4
// and 5.6). A row is the adjacency list of a vertex.
//
// The type Frontier supplies the rows to expand. The type Found stores the discovered vertices. All threads of
// a warp must call the functions of this file together. Every lane runs an equal number of iterations,
// because the lanes exchange values by shuffles.
#pragma once

#include "child.cuh"
#include "hash.cuh"
#include "output.cuh"

// Visits neighbours with the lanes of one warp. Each thread has its own visitor object.
template <class Found>
struct visitor {
    const search_context &search;
    const warp_lanes warp;
    Found &found;
    void *hash_table;

    // Gives unreached neighbours their level and puts them into the next frontier. -1 stands for no
    // neighbour.
    //
    // Races: several threads may find one vertex unreached. All of them store an equal level, and each puts
    // the vertex into the frontier. drop_duplicates may remove these copies. The remaining copies cost only
    // time.
    __device__ __forceinline__ void visit(const int (&neighbours)[BATCH]) {
        if (warp.lane == 0) search.count(counted::warp_steps);
        int levels[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            levels[k] = neighbours[k] >= 0 ? __ldcg(&search.levels[neighbours[k]]) : 0;
        unsigned unreached = 0;
#pragma unroll
        for (int k = 0; k < BATCH; ++k) unreached |= unsigned(levels[k] == UNREACHED) << k;
        if (!__any_sync(warp.mask, unreached)) return;
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            // benign race: all writers store the same level
            if (unreached >> k & 1) search.levels[neighbours[k]] = search.level + 1;
        found.accept(search, warp, neighbours, drop_duplicates(search, warp, hash_table, neighbours, unreached));
    }

    // Visits the neighbours at the indices first, first + stride, ... before `end` in column_indices. Lanes
    // may pass different bounds.
    __device__ __forceinline__ void visit_row(edge_t first, edge_t end, unsigned stride) {
        for (edge_t edge = first; __any_sync(warp.mask, edge < end); edge += BATCH * stride) {
            int neighbours[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const edge_t e = edge + k * stride;
                neighbours[k] = e < end ? __ldg(&search.column_indices[e]) : -1;
            }
            visit(neighbours);
        }
    }
};

// Distributes edges over the lanes of a warp ("edge-discover" in Busato and Bombieri 2014). Each lane owns one
// row. The edges of all these rows are numbered consecutively, and each lane finds the owner of its edge.
template <class Found>
struct edge_discover {
    visitor<Found> &visit;
    edge_t before, total;  // number of edges in the rows of lower lanes, and in the rows of all lanes
    edge_t shift;          // difference between an edge's index in column_indices and its number

    __device__ __forceinline__ edge_discover(visitor<Found> &visit, const adjacency &row) : visit(visit) {
        before = exclusive_sum(visit.warp, static_cast<edge_t>(row.degree), total);
        shift = row.begin - before;
    }

    // Visits all edges of the warp's rows. The macro EXT selects the extended technique: when the last lane's edge
    // lies in a row with more edges than the warp has lanes, all lanes together finish this row. Meanwhile they
    // need not search for the lane that owns each edge.
    __device__ __forceinline__ void run() {
        const warp_lanes &warp = visit.warp;
        int owner = 0;        // lane that owns the row of this lane's edge
        edge_t long_end = 0;  // number of the edge at which the latest long row ends
        for (edge_t first = 0; first < total;) {
            const bool searching = first >= long_end;
            const edge_t end = searching ? total : long_end;
            int neighbours[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; ++k) {
                const edge_t edge = first + k * warp.lanes + warp.lane;
                if (searching) owner = owner_of(edge);
                const edge_t place = __shfl_sync(warp.mask, shift, owner) + edge;
                neighbours[k] = edge < end ? __ldg(&visit.search.column_indices[place]) : -1;
            }
            visit.visit(neighbours);
            first = min(first + BATCH * warp.lanes, end);
            if (!searching) continue;
            if (warp.lane == 0) visit.search.count(counted::edge_searches, BATCH);
            if (EXT) {
                owner = __shfl_sync(warp.mask, owner, warp.lanes - 1);
                long_end = end_if_long(owner);
                if (warp.lane == 0) visit.search.count(counted::extended_rows, long_end > first);
            }
        }
    }

  private:
    // Returns the last lane whose row begins at edge number `edge` or before it.
    __device__ __forceinline__ int owner_of(edge_t edge) const {
        const warp_lanes &warp = visit.warp;
        int owner = 0;
#pragma unroll
        for (int step = 16; step > 0; step /= 2) {
            const int lane = owner + step;
            const edge_t begin = __shfl_sync(warp.mask, before, min(lane, warp.lanes - 1));
            if (lane < warp.lanes && begin <= edge) owner = lane;
        }
        return owner;
    }

    // Returns the number of the edge at which the row of `lane` ends. Returns 0 if the row has at most as many
    // edges as the warp has lanes.
    __device__ __forceinline__ edge_t end_if_long(int lane) const {
        const warp_lanes &warp = visit.warp;
        const edge_t begin = __shfl_sync(warp.mask, before, lane);
        edge_t end = __shfl_sync(warp.mask, before, min(lane + 1, warp.lanes - 1));
        if (lane == warp.lanes - 1) end = total;
        return end - begin > warp.lanes ? end : 0;
    }
};

// Distributes the rows of a frontier over warps. A warp takes a run of consecutive rows, and then the run
// that begins `stride` rows further on.
template <class Frontier, class Found>
struct expansion {
    visitor<Found> visit;
    Frontier &frontier;
    unsigned size;

    // Launches child kernels for rows of high degree and removes these rows from the frontier. Examines `rows` rows
    // from index `begin` on, then `rows` rows from index `begin + stride` on, and so on. The parent kernel calls
    // the function before it expands its own rows, so that the child kernels run concurrently. The single-block
    // kernel calls it at most once per level. In the multi-block kernel each warp calls it for the warp's own rows.
    __device__ __forceinline__ void launch_children(unsigned begin, unsigned rows, unsigned stride) {
#if CHILD_KERNELS
        for (unsigned first = begin; first < size; first += stride) {
            const unsigned i = first + visit.warp.lane;
            if (visit.warp.lane >= rows || i >= size) continue;
            const adjacency row = frontier.row_at(visit.search, i);
            if (row.degree >= visit.search.child_degree && launch_child(visit.search, row)) frontier.strike(i);
        }
        __syncwarp(visit.warp.mask);
#endif
    }

    // Expands the frontier with one row per virtual warp of `width` threads.
    __device__ __forceinline__ void by_virtual_warps(unsigned width) {
        const warp_lanes &warp = visit.warp;
        const unsigned rows_of_block = (blockDim.x + width - 1) / width, stride = rows_of_block * gridDim.x;
        const unsigned own = threadIdx.x / width, lane = threadIdx.x % width;
        const unsigned first_of_warp = (threadIdx.x - warp.lane) / width;
        const unsigned members = min(width, blockDim.x - own * width);
        const unsigned begin = blockIdx.x * rows_of_block + first_of_warp;
        const unsigned rows = (warp.lanes + width - 1) / width;
        if (Frontier::OF_ALL_BLOCKS) launch_children(begin, rows, stride);
        for (unsigned first = begin; first < size; first += stride) {
            const adjacency row = row_at(first + own - first_of_warp);
            visit.visit_row(row.begin + lane, row.begin + row.degree, members);
        }
    }

    // Expands the frontier with whole warps. The lanes of a warp first read one frontier entry each, so that these
    // reads are coalesced. Then the whole warp expands these rows one after another.
    __device__ __forceinline__ void by_whole_warps() {
        const warp_lanes &warp = visit.warp;
        const unsigned begin = global_thread() - warp.lane;
        if (Frontier::OF_ALL_BLOCKS) launch_children(begin, warp.lanes, grid_threads());
        for (unsigned first = begin; first < size; first += grid_threads()) {
            const adjacency own = row_at(first + warp.lane);
            const int rows = min(size - first, static_cast<unsigned>(warp.lanes));
            for (int i = 0; i < rows; ++i) {
                const edge_t edge = __shfl_sync(warp.mask, own.begin, i);
                const edge_t end = edge + __shfl_sync(warp.mask, own.degree, i);
                visit.visit_row(edge + warp.lane, end, warp.lanes);
            }
        }
    }

    // Expands the frontier edge by edge. A warp takes at most one row per lane. If the frontier has few rows, a
    // warp takes fewer, so that more warps have work. The lanes of the warp share the edges of these rows.
    __device__ __forceinline__ void by_edges() {
        const warp_lanes &warp = visit.warp;
        const unsigned warps_of_block = (blockDim.x + 31) / 32, warps = warps_of_block * gridDim.x;
        const unsigned fewest_lanes = (blockDim.x - 1) % 32 + 1;  // number of lanes in the block's last warp
        const unsigned rows = min((size + warps - 1) / warps, fewest_lanes);
        const unsigned begin = (blockIdx.x * warps_of_block + threadIdx.x / 32) * rows;
        if (Frontier::OF_ALL_BLOCKS) launch_children(begin, rows, warps * rows);
        for (unsigned first = begin; first < size; first += warps * rows) {
            adjacency own = {0, 0};
            if (warp.lane < rows) own = row_at(first + warp.lane);
            edge_discover<Found>(visit, own).run();
        }
    }

  private:
    __device__ __forceinline__ adjacency row_at(unsigned i) const {
        return i < size ? frontier.row_at(visit.search, i) : adjacency{0, 0};
    }
};

// Expands a frontier. Chooses the technique by the frontier's size and the number of threads that can run at
// once.
template <class Frontier, class Found>
__device__ __forceinline__ void expand(expansion<Frontier, Found> expansion, unsigned resident_threads) {
    const search_context &search = expansion.visit.search;
    const unsigned size = expansion.size;
    const bool counts = global_thread() == 0;
    if (search.k4 > 0 && size < resident_threads / search.k4) {
        if (counts) search.count(counted::edge_discover_levels);
        return expansion.by_edges();
    }
    unsigned width = 1;
    if (VIRTUAL_WARPS)
        width = min(max(floor_power_of_2(max(resident_threads / size, 1u)), search.k1), warpSize);
    if (counts) {
        search.count(counted::virtual_warp_levels);
        search.count(counted::virtual_warp_threads, width);
    }
    if (COALESCED_READS && width == warpSize && size > resident_threads) {
        if (counts) search.count(counted::coalesced_read_levels);
        return expansion.by_whole_warps();
    }
    expansion.by_virtual_warps(width);
}
