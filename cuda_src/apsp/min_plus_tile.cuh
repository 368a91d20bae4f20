// Min-plus products of tiles: C = min(C, A * B), where element (i, j) of A * B is the smallest A[i][k] +
// B[k][j] over all k.
//
// A block holds a tile of C, TILE_SIZE x TILE_SIZE elements, in registers. Each thread holds ELEMENTS_Y x
// ELEMENTS_X elements. The block copies A and B to shared memory in pieces: DEPTH columns of A and DEPTH rows
// of B at a time. For each k a thread reads ELEMENTS_X + ELEMENTS_Y values from shared memory and computes
// ELEMENTS_X * ELEMENTS_Y sums. So arithmetic, rather than memory, limits the speed.
#pragma once

#include "min_plus.cuh"

#define THREADS_X (TILE_SIZE / ELEMENTS_X)
#define THREADS_Y (TILE_SIZE / ELEMENTS_Y)
#define THREADS (THREADS_X * THREADS_Y)
// The compiler must limit the registers of a thread so that at least BLOCKS blocks fit on a multiprocessor at
// once. Small blocks then have 512 threads together on a multiprocessor, so each thread may use up to 128
// registers. A block of 512 or more threads may be alone on its multiprocessor.
#define BLOCKS (THREADS < 512 ? 512 / THREADS : 1)
#define VECTOR (ELEMENTS_X < 4 ? ELEMENTS_X : 4)
#ifndef DEPTH
#define DEPTH (TILE_SIZE < 32 ? TILE_SIZE : 32)
#endif
// The row length, in words, of the copy of a piece of the matrix A in shared memory. Threads of a warp read
// several rows of A at once. Four extra words per row put these rows in different banks of shared memory.
#define LEFT_PITCH (DEPTH + 4)

template <int kLength>
struct __align__(4 * kLength) Vector {
    int at[kLength];
};

template <int kLength>
__device__ __forceinline__ Vector<kLength> load_vector(const int *from) {
    return *reinterpret_cast<const Vector<kLength> *>(from);
}

// The elements of a tile that one thread holds. The rows of these elements are THREADS_Y apart. The columns of
// the elements form runs of VECTOR columns, so that the threads of a warp read and write whole cache lines.
struct Tile {
    int best[ELEMENTS_Y][ELEMENTS_X];
#if TRACKS
    int via[ELEMENTS_Y][ELEMENTS_X];
#endif

    static __device__ __forceinline__ int row(int y) { return y * THREADS_Y + threadIdx.x / THREADS_X; }
    static __device__ __forceinline__ int column(int x) {
        return x / VECTOR * (VECTOR * THREADS_X) + threadIdx.x % THREADS_X * VECTOR + x % VECTOR;
    }

    __device__ __forceinline__ void load(const int *tile, const int *vias, int pitch) {
#pragma unroll
        for (int y = 0; y < ELEMENTS_Y; ++y)
#pragma unroll
            for (int x = 0; x < ELEMENTS_X; x += VECTOR) {
                const auto values = load_vector<VECTOR>(tile + row(y) * pitch + column(x));
#pragma unroll
                for (int i = 0; i < VECTOR; ++i) {
                    best[y][x + i] = values.at[i];
#if TRACKS
                    via[y][x + i] = vias[row(y) * pitch + column(x) + i];
#endif
                }
            }
    }

    __device__ __forceinline__ void store(int *tile, int *vias, int pitch) const {
#pragma unroll
        for (int y = 0; y < ELEMENTS_Y; ++y)
#pragma unroll
            for (int x = 0; x < ELEMENTS_X; x += VECTOR) {
                Vector<VECTOR> values;
#pragma unroll
                for (int i = 0; i < VECTOR; ++i) {
                    values.at[i] = best[y][x + i];
#if TRACKS
                    vias[row(y) * pitch + column(x) + i] = via[y][x + i];
#endif
                }
                *reinterpret_cast<Vector<VECTOR> *>(tile + row(y) * pitch + column(x)) = values;
            }
    }

    // Replaces each element in the thread's row number y by the length of the path through
    // vertex k, if that path is shorter. `to_k` is the distance from the vertex of this row
    // to k. `from_k` holds the distances from k to the vertices of the thread's columns.
    __device__ __forceinline__ void relax_row(int y, int to_k, const int (&from_k)[ELEMENTS_X], int k) {
#pragma unroll
        for (int x = 0; x < ELEMENTS_X; ++x) {
#if TRACKS
            relax(best[y][x], via[y][x], to_k, from_k[x], k);
#else
            best[y][x] = add_min(to_k, from_k[x], best[y][x]);
#endif
        }
    }
};

// Reads, from a row of a tile in shared memory, the elements of the columns that this thread holds.
__device__ __forceinline__ void load_columns(int (&values)[ELEMENTS_X], const int *row) {
#pragma unroll
    for (int x = 0; x < ELEMENTS_X; x += VECTOR) {
        const auto some = load_vector<VECTOR>(row + Tile::column(x));
#pragma unroll
        for (int i = 0; i < VECTOR; ++i) values[x + i] = some.at[i];
    }
}

// Copies `kRows` x `kColumns` elements to shared memory, four elements per access. All threads of the block
// must call the function.
template <int kRows, int kColumns, int kPitch>
__device__ __forceinline__ void copy_piece(int (&piece)[kRows][kPitch], const int *from, int pitch) {
    constexpr int kVectors = kRows * kColumns / 4, kVectorsPerRow = kColumns / 4;
#pragma unroll
    for (int first = 0; first < kVectors; first += THREADS) {
        const int i = first + threadIdx.x;
        if (kVectors % THREADS && i >= kVectors) break;
        const int row = i / kVectorsPerRow, column = i % kVectorsPerRow * 4;
        *reinterpret_cast<Vector<4> *>(&piece[row][column]) = load_vector<4>(from + row * pitch + column);
    }
}

// Multiplies the tiles `left` and `right` in the min-plus algebra. Replaces each element of `tile` by the
// corresponding element of the product, if that is smaller. The columns of `left` and the rows of `right` belong to
// TILE_SIZE vertices, beginning with first_k. All threads of the block must call the function. When it returns, the
// whole block has completed its reads of global memory.
__device__ __forceinline__ void multiply(Tile &tile, const int *left, const int *right, int pitch, int first_k) {
    __shared__ __align__(16) int left_piece[TILE_SIZE][LEFT_PITCH];
    __shared__ __align__(16) int right_piece[DEPTH][TILE_SIZE];
    for (int start = 0; start < TILE_SIZE; start += DEPTH) {
        __syncthreads();  // all threads have used the previous piece
        copy_piece<TILE_SIZE, DEPTH>(left_piece, left + start, pitch);
        copy_piece<DEPTH, TILE_SIZE>(right_piece, right + start * pitch, pitch);
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < DEPTH; k += 4) {
            Vector<4> to_k[ELEMENTS_Y];
#pragma unroll
            for (int y = 0; y < ELEMENTS_Y; ++y) to_k[y] = load_vector<4>(&left_piece[Tile::row(y)][k]);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                int from_k[ELEMENTS_X];
                load_columns(from_k, right_piece[k + i]);
#pragma unroll
                for (int y = 0; y < ELEMENTS_Y; ++y)
                    tile.relax_row(y, to_k[y].at[i], from_k, first_k + start + k + i);
            }
        }
    }
}
