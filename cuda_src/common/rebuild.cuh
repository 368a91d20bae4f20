// The kernel that rebuilds a queue of vertices after an overflow.
#pragma once

#include "graph.cuh"

// Rebuilds the queue of a level from the level array. Each vertex of the level enters the queue once. The host has
// set sizes[slot] to 0 before the launch.
extern "C" __global__ void rebuild_queue(const int *__restrict__ levels, int num_vertices, int *queue, int *sizes,
                                         int slot, int level) {
    for (unsigned v = global_thread(); v < num_vertices; v += grid_threads())
        if (levels[v] == level) queue[atomicAdd(&sizes[slot], 1)] = v;
}
