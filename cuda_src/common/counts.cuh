// Counts of the vertices and edges that a search has reached. The host's loops use these counts for their
// decisions.
//
// Kernels only add to the counts, so the host computes the difference between two levels. The count of edges
// grows to the number of all edges, so it has 64 bits.
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

// Add the counts of a block's threads to the counts of the search, with one global atomic per count. All
// threads of the block must call it.
__device__ __forceinline__ void add_block(search_counts *reached, unsigned vertices, unsigned long long edges) {
    __shared__ search_counts block;
    if (threadIdx.x == 0) block.edges = block.vertices = 0;
    __syncthreads();
    block.add(vertices, edges);
    __syncthreads();
    if (threadIdx.x == 0) reached->add(block.vertices, block.edges);
}
