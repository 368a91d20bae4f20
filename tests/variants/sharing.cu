// `virtual_warp` with one level array per lane, which shows the vertices that each lane has reached.
#define WIDE_OFFSETS 0
#include "neighbours.cuh"

// The array of lane i starts NUM_VERTICES * (i + 1) elements after the array with the frontier.
__device__ __forceinline__ void expand_by_lane(const offset_t *row_offsets, const int *column_indices, int v,
                                               int *levels, int *progress, int level, int lane, int width) {
    expand(row_offsets, column_indices, v, levels + NUM_VERTICES * (lane + 1), progress, level, lane, width);
}

#define expand expand_by_lane
#include "virtual_warp.cu"
