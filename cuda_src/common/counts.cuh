// Numbers of vertices and edges reached, for host loops that decide by them.
//
// They are not cleared during a search, so the host takes differences. The number of edges has 64 bits: it grows to
// E.
#pragma once

struct search_counts {
    unsigned long long edges;
    unsigned vertices;

    __device__ void add(unsigned more_vertices, unsigned long long more_edges) {
        if (more_vertices == 0) return;
        atomicAdd(&vertices, more_vertices);
        atomicAdd(&edges, more_edges);
    }
};

// Add the numbers reached by the threads of a block to those of the search, with one atomic per block and number.
// All threads of the block must call it.
__device__ __forceinline__ void add_block(search_counts *reached, unsigned vertices, unsigned long long edges) {
    __shared__ search_counts block;
    if (threadIdx.x == 0) block.edges = block.vertices = 0;
    __syncthreads();
    block.add(vertices, edges);
    __syncthreads();
    if (threadIdx.x == 0) reached->add(block.vertices, block.edges);
}
