// apsp_fw_blocked: the Floyd-Warshall algorithm by tiles, with three launches for each tile on the diagonal.
// The course paper for CSE 6230 describes the algorithm. The algorithm comes from Venkataraman, Sahni and
// Mukhopadhyaya ("A blocked all-pairs shortest-paths algorithm", 2003). Katz and Kider ran it on GPUs
// ("All-pairs shortest-paths for large graphs on the GPU", 2008). The tile on the diagonal is called the pivot.
//
// 1. apsp_fw_pivot computes the distances within the pivot.
// 2. apsp_fw_cross updates the tiles in the pivot's row and column, except the pivot. It finds shorter paths
// through the pivot's vertices. The first launch has computed all distances within the pivot, so one min-plus
// product with the pivot is enough. One factor of the product is the tile's own values from before the launch.
// 3. apsp_fw_rest updates every remaining tile with the min-plus product of two tiles: one in the pivot's column
// and one in its row.
//
// Invariant: in each launch, only one block writes a tile. Before this block stores the tile, it has read all that
// it needs of the tile.
#include "min_plus_tile.cuh"

__device__ __forceinline__ size_t tile_at(int row, int column, int pitch) {
    return (static_cast<size_t>(row) * pitch + column) * TILE_SIZE;
}

// Replaces each distance of a tile by the length of the path through the tile's vertex
// number k, if that path is shorter. First, the threads that hold row k or column k of
// the tile copy it to shared memory. Among the rows that such a thread holds, row k has
// the index `y`. `i` is k % VECTOR. Two buffers alternate, so one barrier per k suffices.
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

// Runs the Floyd-Warshall algorithm within a tile. Unrolled loops make the indices
// y and i compile-time constants, because registers cannot be indexed at run time.
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

// Multiplies the tiles (row, pivot) and (pivot, column) in the min-plus algebra. Then replaces each element of
// the tile (row, column) by the corresponding element of the product, if that is smaller.
__device__ __forceinline__ void lower(int *matrix, int *via, int pitch, int pivot, int row, int column) {
    const size_t place = tile_at(row, column, pitch);
    Tile tile;
    tile.load(matrix + place, via + place, pitch);
    multiply(tile, matrix + tile_at(row, pivot, pitch), matrix + tile_at(pivot, column, pitch), pitch,
             pivot * TILE_SIZE);
    tile.store(matrix + place, via + place, pitch);
}

// Returns the index of the i-th tile in a row or column of tiles, counted from 0 without the tile at index
// `pivot`.
__device__ __forceinline__ int other(int i, int pivot) { return i + (i >= pivot); }

// Updates the tiles in the pivot's row and column, except the pivot itself. The first half of the blocks takes
// the tiles of the row, and the second half takes the tiles of the column.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_fw_cross(int *matrix, int *via, int pitch, int pivot) {
    const int others = gridDim.x / 2;
    if (blockIdx.x < others)
        lower(matrix, via, pitch, pivot, pivot, other(blockIdx.x, pivot));
    else
        lower(matrix, via, pitch, pivot, other(blockIdx.x - others, pivot), pivot);
}

// Updates all tiles that lie neither in the pivot's row nor in the pivot's column, with one block per tile.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) apsp_fw_rest(int *matrix, int *via, int pitch, int pivot) {
    const int others = pitch / TILE_SIZE - 1;
    lower(matrix, via, pitch, pivot, other(blockIdx.x / others, pivot), other(blockIdx.x % others, pivot));
}
