// Push with one warp per vertex (Springer, "Breadth-first Search in CUDA", section 3.5, Fig. 13). Lane 0 reads where
// the vertex's row begins and ends, and passes both numbers to the other lanes by shuffles. Then the 32 lanes share the
// neighbours.
#include "graph.cuh"

#define LANES 0x0000ffffu

extern "C" __global__ void lanes_missing(const offset_t *row_offsets, const int *column_indices, int num_vertices,
                                         int *levels, int *progress, int level) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned v = global_thread() / 32; v < num_vertices; v += grid_threads() / 32) {
        if (levels[v] != level) continue;
        offset_t begin = 0, end = 0;
        if (lane == 0) {
            begin = row_offsets[v];
            end = row_offsets[v + 1];
        }
        begin = __shfl_sync(LANES, begin, 0);
        end = __shfl_sync(LANES, end, 0);
        for (offset_t e = begin + lane; e < end; e += 32) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;
            levels[neighbour] = level + 1;  // benign race: all threads write the same value
            *progress = level + 1;          // benign race: all threads write the same value
        }
    }
}
