// short_rows: copies short rows into records, so that levels of the cluster read no offsets (short_rows.cuh).
//
// The resulting array has the column indices first. From index `first_record` on, it has a record of RECORD entries
// for each vertex, with the first arcs of its row. If RECORDS is 2, the second records of all vertices follow after
// all first records. Record entries without an arc are NO_ARC. Each entry also says how many records of the
// neighbour a search must read. This number is 0 if the neighbour's row cannot lead to a new vertex: the row is
// empty, or its only arc leads back. The host defines RECORD and RECORDS.
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
