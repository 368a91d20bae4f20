// apsp_fw_blocked: Floyd and Warshall's algorithm by tiles, three launches for each tile on the diagonal (CSE 6230, after
// Venkataraman, Sahni and Mukhopadhyaya, and Katz and Kider).
//
// 1. The pivot, the tile on the diagonal, gets the distances within its own vertices.
// 2. The tiles in its row and column get the distances through these vertices. As the pivot is complete, that is
// one product
//    with it: a path that enters the pivot's vertices first, or leaves them last, at k goes on within them as short
//    as can be. So a tile's own values are read as they were before the launch.
// 3. All other tiles get theirs by the product of the tile in the pivot's column and the one in its row.
//
// Each tile is written by one block alone, after it has read all it needs of it.
#include "min_plus_tile.cuh"

__device__ __forceinline__ size_t tile_at(int row, int column, int pitch) {
    return (static_cast<size_t>(row) * pitch + column) * TILE_SIZE;
}

// Paths by way of the tile's vertex k, which is row y of the threads that hold it, and a column x of others for
// which x % VECTOR == i. They write their row and column to shared memory. With two alternating buffers that takes
// one barrier.
__device__ __forceinline__ void relax_by(Tile &tile, int k, int y, int i, int first_k) {
    __shared__ __align__(16) int rows[2][TILE_SIZE];
    __shared__ int columns[2][TILE_SIZE];
    int *const row = rows[k % 2], *const column = columns[k % 2];
    if (Tile::row(y) == k) {
#pragma unroll
        for (int x = 0; x < ELEMENTS_X; ++x) row[Tile::column(x)] = tile.best[y][x];
    }
#pragma unroll
    for (int x = i; x < ELEMENTS_X; x += VECTOR)
        if (Tile::column(x) == k) {
#pragma unroll
            for (int other = 0; other < ELEMENTS_Y; ++other) column[Tile::row(other)] = tile.best[other][x];
        }
    __syncthreads();
    int from_k[ELEMENTS_X];
    load_columns(from_k, row);
#pragma unroll
    for (int other = 0; other < ELEMENTS_Y; ++other)
        tile.relax_row(other, column[Tile::row(other)], from_k, first_k + k);
}

// Floyd and Warshall's algorithm within a tile. The loops over k are written so that y and i are compile-time
// constants: registers cannot be indexed at run time.
__device__ __forceinline__ void close_tile(Tile &tile, int first_k) {
#pragma unroll
    for (int y = 0; y < ELEMENTS_Y; ++y)
#pragma unroll 1
        for (int k = y * THREADS_Y; k < (y + 1) * THREADS_Y; k += 4)
#pragma unroll
            for (int i = 0; i < 4; ++i) relax_by(tile, k + i, y, i % VECTOR, first_k);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_fw_pivot(int *matrix, int *via, int pitch, int pivot) {
    const size_t place = tile_at(pivot, pivot, pitch);
    Tile tile;
    tile.load(matrix + place, via + place, pitch);
    close_tile(tile, pivot * TILE_SIZE);
    tile.store(matrix + place, via + place, pitch);
}

// Lowers a tile by the product of those where its row meets the pivot's column and its column the pivot's row.
__device__ __forceinline__ void lower(int *matrix, int *via, int pitch, int pivot, int row, int column) {
    const size_t place = tile_at(row, column, pitch);
    Tile tile;
    tile.load(matrix + place, via + place, pitch);
    multiply(tile, matrix + tile_at(row, pivot, pitch), matrix + tile_at(pivot, column, pitch), pitch,
             pivot * TILE_SIZE);
    tile.store(matrix + place, via + place, pitch);
}

// The i-th tile of a row or column, not counting the pivot's.
__device__ __forceinline__ int other(int i, int pivot) { return i + (i >= pivot); }

// A block for each other tile in the pivot's row, then one for each in its column.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_fw_cross(int *matrix, int *via, int pitch, int pivot) {
    const int others = gridDim.x / 2;
    if (blockIdx.x < others)
        lower(matrix, via, pitch, pivot, pivot, other(blockIdx.x, pivot));
    else
        lower(matrix, via, pitch, pivot, other(blockIdx.x - others, pivot), pivot);
}

// A block for each tile that is neither in the pivot's row nor in its column.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_fw_rest(int *matrix, int *via, int pitch, int pivot) {
    const int others = pitch / TILE_SIZE - 1;
    lower(matrix, via, pitch, pivot, other(blockIdx.x / others, pivot), other(blockIdx.x % others, pivot));
}
