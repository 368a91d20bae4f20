// spmv: a level is a sparse matrix-vector product over the boolean semiring. The search is from Deng et al. 2009, as
// described by Luo (section 2) and BFS-4K (section 3). Initialising takes O(V), and each of the D levels takes O(E).
//
// The boolean vector x is the frontier. y = A^T x is true for the out-neighbours of the frontier. Removing
// the reached vertices from y gives the next frontier. A thread computes the dot product of a row of A^T,
// which is a column of A (CSC). It computes the whole product before it tests whether the vertex was reached.
// A kernel that tested first, and stopped at the first true term, would be `pull`.
//
// Races: a thread writes only the level and the element of y of its own vertices, and reads no other level.
// Only *progress has several writers, and all of these threads store an equal value.
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
            *progress = level + 1;  // benign race: every thread stores the same value
        }
    }
}
