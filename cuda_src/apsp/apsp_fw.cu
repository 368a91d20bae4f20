// apsp_fw: Floyd and Warshall's algorithm, one launch for each vertex that paths may lead through (CSE 6230).
//
// A block has a piece of a row with as many elements as the block has threads; each thread has one element.
//
// Races. Row and column k are read while they might be written. But a path through k to or from k itself is not
// shorter, so they do not change during the launch for k.
#include "min_plus.cuh"

extern "C" __global__ void apsp_fw(int *matrix, int *via, int pitch, int k) {
    const unsigned pieces_per_row = (pitch + blockDim.x - 1) / blockDim.x;
    for (unsigned piece = blockIdx.x; piece < pitch * pieces_per_row; piece += gridDim.x) {
        const size_t row = piece / pieces_per_row * static_cast<size_t>(pitch);
        const unsigned column = piece % pieces_per_row * blockDim.x + threadIdx.x;
        if (column >= pitch) continue;
        const int length = matrix[row + k] + matrix[static_cast<size_t>(k) * pitch + column];
        if (length < matrix[row + column]) {
            matrix[row + column] = length;
            if (TRACKS) via[row + column] = k;
        }
    }
}
