// apsp_min_plus: squares a matrix of distances once in the min-plus algebra. The algorithm is called
// EXTEND-SHORTEST-PATHS in the project report for the course CSE 6230.
//
// Each block computes one tile of the result and keeps the tile in registers. By default a block has 16 x 16
// threads, and each thread computes 4 x 4 elements. The report found these sizes best. The host defines these
// sizes as macros.
#include "min_plus_tile.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_min_plus(const int *__restrict__ matrix, int *__restrict__ product,
                                                                    int *__restrict__ via, int pitch) {
    const int tiles = pitch / TILE_SIZE;
    const size_t row = blockIdx.x / tiles * static_cast<size_t>(TILE_SIZE) * pitch;
    const int column = blockIdx.x % tiles * TILE_SIZE;
    Tile tile;
    tile.load(matrix + row + column, via + row + column, pitch);
    for (int k = 0; k < pitch; k += TILE_SIZE)
        multiply(tile, matrix + row + k, matrix + static_cast<size_t>(k) * pitch + column, pitch, k);
    tile.store(product + row + column, via + row + column, pitch);
}
