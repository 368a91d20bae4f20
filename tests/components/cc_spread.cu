// cc_spread: the smaller label of an arc's ends becomes that of both, until a launch changes nothing.
//
// Races. A label read may be older than what another thread has written meanwhile; whoever wrote it has reported
// progress, so another launch sees it. Labels only get smaller.
#include "graph.cuh"

extern "C" __global__ void cc_begin(int *labels, int num_vertices) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads()) labels[v] = v;
}

extern "C" __global__ void cc_spread(const int *__restrict__ tails, const int *__restrict__ heads, offset_t num_edges,
                                     int *labels, int *progress, int launches) {
    for (edge_t e = global_thread(); e < num_edges; e += grid_threads()) {
        const int tail = labels[tails[e]], head = labels[heads[e]];
        if (tail < head) {
            atomicMin(&labels[heads[e]], tail);
            *progress = launches + 1;
        } else if (BOTH_WAYS && head < tail) {
            atomicMin(&labels[tails[e]], head);
            *progress = launches + 1;
        }
    }
}
