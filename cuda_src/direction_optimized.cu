// direction_optimized: pushes levels while the frontier is small, and pulls levels while it is
// large (the textbook PMPP, section 15.3; thresholds of Beamer, Asanovic and Patterson 2012).
//
// Both directions use only the level array, as the kernels frontier_numbers and pull do, so switching costs
// nothing. Each level is one launch of `push` or `pull`. The launch also counts the vertices that it reaches
// and their out-edges. The host reads these counts after each level and chooses the next direction by them.
//
// Invariant: every reached vertex except the source is counted once, in the launch that gives it its level.
//
// Races: in `push`, several threads may find one neighbour unreached. atomicCAS lets exactly one thread claim
// and count the neighbour. In `pull`, only the vertex's own thread writes its level. Other threads may read
// the old or the new level. Neither value equals `level`, so the answer does not depend on the value that a
// thread reads.
#include "counts.cuh"
#include "neighbours.cuh"

extern "C" __global__ void push(const offset_t *__restrict__ row_offsets, const int *__restrict__ column_indices,
                                int num_vertices, int *levels, search_counts *reached, int level) {
    unsigned vertices = 0;
    unsigned long long edges = 0;
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) {
        if (levels[v] != level) continue;  // benign race: no claim sets a vertex to this level
        for (offset_t e = row_offsets[v]; e < row_offsets[v + 1]; ++e) {
            const int neighbour = column_indices[e];
            if (levels[neighbour] != UNREACHED) continue;  // benign race: if the read is stale, the claim fails
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
        levels[v] = level + 1;  // benign race: neither value equals `level`, which readers look for
        ++vertices;
        edges += row_offsets[v + 1] - row_offsets[v];
    }
    add_block(reached, vertices, edges);
}
