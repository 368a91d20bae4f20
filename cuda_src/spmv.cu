// spmv: a level is a sparse matrix-vector product over the boolean semiring (Deng et al. 2009, as Luo, section 2,
// and BFS-4K, section 3, describe it: O(V) to initialise and O(E) for each of the D levels).
//
// With the frontier as a boolean vector x, y = A^T x is true for the out-neighbours of the frontier, and y without
// the reached vertices is the next frontier. A thread takes a row of A^T, that is a column of A (CSC), and sums its
// whole dot product; only then the mask is applied. The matrix formulation neither stops at the first true term nor
// applies the mask beforehand; with both it would be pull.
//
// Races. None: a thread writes only its own row's level and element of y, and reads no other row's level.
#include "graph.cuh"

extern "C" __global__ void spmv(const offset_t *__restrict__ column_offsets, const int *__restrict__ row_indices,
                                int num_vertices, int *levels, int *progress, const unsigned char *__restrict__ x,
                                unsigned char *y, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        unsigned char product = 0;
        for (offset_t e = column_offsets[v]; e < column_offsets[v + 1]; ++e) product |= x[row_indices[e]];
        const bool discovered = product && levels[v] == UNREACHED;
        y[v] = discovered;
        if (discovered) {
            levels[v] = level + 1;
            *progress = level + 1;  // benign race: all write the same
        }
    }
}
