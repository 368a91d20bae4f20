// The numbers of vertices and edges that a search has reached. The host reads the numbers after a level and
// decides how to run the next level.
//
// Kernels only add to the numbers. The host gets the numbers of one level as the difference of two reads. The
// count of edges can reach the number of all edges of the graph, so it has 64 bits.
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

// Adds the counts of a block's threads to the counts of the search, with one global atomic per count. All
// threads of the block must call the function.
__device__ __forceinline__ void add_block(search_counts *reached, unsigned vertices, unsigned long long edges) {
    __shared__ search_counts block;
    if (threadIdx.x == 0) block.edges = block.vertices = 0;
    __syncthreads();
    block.add(vertices, edges);
    __syncthreads();
    if (threadIdx.x == 0) reached->add(block.vertices, block.edges);
}
