// edge_simple: unoptimised edge-centric search (Springer, "Breadth-first Search in CUDA", section 4.1, Fig. 16).
//
// In every iteration, each edge sets its head's level to the tail's level plus one, if that is smaller. The search
// ends when an iteration changes nothing. There is no frontier. Unlike in the kernel `simple`, all threads do equal
// work.
//
// Races: a store may replace a lower level by a higher level. The storing thread has also reported progress,
// so another iteration follows. A later iteration lowers the level again.
#include "graph.cuh"

extern "C" __global__ void edge_simple(const int *__restrict__ edge_sources, const int *__restrict__ edge_targets,
                                       offset_t num_edges, int *levels, int *progress, int iteration) {
    for (edge_t e = global_thread(); e < num_edges; e += grid_threads()) {
        const int level = levels[edge_sources[e]];
        if (level == UNREACHED) continue;
        const int head = edge_targets[e];
        // As an unsigned number, UNREACHED is larger than any level.
        if ((unsigned)levels[head] > (unsigned)(level + 1)) {
            levels[head] = level + 1;  // benign race: a later launch corrects a larger level
            *progress = iteration + 1;  // benign race: every thread stores the same value
        }
    }
}
