// apsp_fw: the Floyd-Warshall algorithm for all-pairs shortest paths, as in the course paper for CSE 6230.
// Each launch allows paths through one more vertex, k.
//
// Each block updates a piece of a row, with one element per
// thread.
//
// There are no races. All threads read row k and column k, but the launch for k stores nothing there. A path
// from k or to k never gets shorter by passing through k.
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
