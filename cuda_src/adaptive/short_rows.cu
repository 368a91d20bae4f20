// short_rows: rows of few arcs as records, for a search whose small frontiers wait for each access (short_rows.cuh).
//
// The array of the result has the column indices, and from `first_record` on RECORD of them for each vertex, the first
// arcs of its row; then, if RECORDS is 2, as many more for each. What is missing is NO_ARC. Each index tells how many
// records the row of its vertex has, none if nothing is found by it: if it is empty, or leads back and nowhere else.
// The host defines both.
#include "graph.cuh"
#include "neighbour.cuh"

extern "C" __global__ void __launch_bounds__(1024)
    make_records(const offset_t *row_offsets, const int *column_indices, int num_vertices, int *entries,
                 offset_t first_record) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        const edge_t begin = row_offsets[v], length = row_offsets[v + 1] - begin;
        for (unsigned k = 0; k < RECORDS * RECORD; ++k) {
            int entry = NO_ARC;
            if (k < length) {
                const int u = column_indices[begin + k];
                const edge_t its = row_offsets[u], arcs = row_offsets[u + 1] - its;
                const bool ends = arcs == 0 || arcs == 1 && column_indices[its] == v;
                entry = u | (ends ? NO_RECORD : 0) | (arcs > RECORD ? TWO_RECORDS : 0);
                entries[begin + k] = entry;
            }
            entries[first_record + ((edge_t)(k / RECORD) * num_vertices + v) * RECORD + k % RECORD] = entry;
        }
    }
}
