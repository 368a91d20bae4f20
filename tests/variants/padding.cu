// Shows where scan.cuh puts the elements of a tile.
#define WIDE_OFFSETS 0
#define TILE_SIZE 4096
#include "scan.cuh"

extern "C" __global__ void places(int *places) {
    for (int i = threadIdx.x; i < TILE_SIZE; i += blockDim.x) places[i] = PADDED(i);
}
