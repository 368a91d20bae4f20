extern "C" __global__ void traps(const int *row_offsets, const int *column_indices, int num_vertices, int *levels,
                                 int *progress, int level) {
    __trap();
}
