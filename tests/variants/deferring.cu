// frontier_numbers_defer, which notes the order that it expands vertices in instead of expanding them.
#define WIDE_OFFSETS 0
#include "neighbours.cuh"

// progress[0] is how many have been noted; they follow.
__device__ __forceinline__ void note(const offset_t *row_offsets, const int *column_indices, int v, int *levels,
                                     int *progress, int level) {
    progress[1 + atomicAdd(progress, 1)] = v;
}

#define expand note
#include "frontier_numbers_defer.cu"
