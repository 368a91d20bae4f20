// direction_optimized: push while the frontier is small, pull while it is large (PMPP, section 15.3; thresholds of
// Beamer, Asanovic and Patterson 2012).
//
// Both directions read and write the level array, as frontier_numbers and pull do, so switching costs nothing. A
// level is one launch of either. It also counts the vertices it reaches and their out-edges; the host reads these
// counts instead of a progress flag, and chooses the next direction by them.
//
// Invariant. Every vertex but the source is counted once, in the level that reaches it.
//
// Races. In push several threads may find the same neighbour unreached; atomicCAS lets one of them count it. In
// pull only its own thread writes a vertex; see neighbours.cuh for its reads of others.
#include "counts.cuh"
#include "neighbours.cuh"

extern "C" __global__ void push(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                int num_vertices, int *levels, search_counts *reached, int level) {
    unsigned vertices = 0;
    unsigned long long edges = 0;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;  // benign race: no thread claims a vertex of this level
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;  // benign race: a stale read is corrected by the claim
            if (atomicCAS(&levels[neighbour], UNREACHED, level + 1) != UNREACHED) continue;
            ++vertices;
            edges += row_offsets[neighbour + 1] - row_offsets[neighbour];
        }
    }
    add_block(reached, vertices, edges);
}

extern "C" __global__ void pull(const offset_t *__restrict__ column_offsets, const int *__restrict__ row_indices,
                                const offset_t *__restrict__ row_offsets, int num_vertices, int *levels,
                                search_counts *reached, int level) {
    unsigned vertices = 0;
    unsigned long long edges = 0;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != UNREACHED || !has_parent(column_offsets, row_indices, v, levels, level)) continue;
        levels[v] = level + 1;  // benign race: neither value equals the level that others compare with
        ++vertices;
        edges += row_offsets[v + 1] - row_offsets[v];
    }
    add_block(reached, vertices, edges);
}
