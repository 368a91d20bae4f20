// `frontier_numbers_defer`, which notes the order of the vertices instead of expanding them.
#define WIDE_OFFSETS 0
#include "neighbours.cuh"

// progress[0] is the number of noted vertices, which follow it.
__device__ __forceinline__ void note(const offset_t *row_offsets, const int *column_indices, int v, int *levels,
                                     int *progress, int level) {
    progress[1 + atomicAdd(progress, 1)] = v;
}

#define expand note
#include "frontier_numbers_defer.cu"
