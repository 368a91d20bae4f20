/* A search on a GPU as a separate program. bfsbench starts it as: NAME GRAPH ANSWER. Replace the bodies of `expand` and
 * `search`. */
#include "entry.h"

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t error = (call);                                                  \
        if (error != cudaSuccess) fail(cudaGetErrorString(error));                   \
    } while (0)

static Graph graph;
/* Arrays of the graph and of the search on the device. */
static int64_t *offsets;
static int32_t *columns, *level_array, *changed;
static cudaEvent_t first, last;

/* Each thread has one vertex. If the vertex has the level `level`, its neighbours without a level get the next level.
 * Several threads may write to one neighbour, but they all write the same level. */
__global__ void expand(const int64_t *offsets, const int32_t *columns, int64_t num_vertices, int32_t *levels,
                       int32_t level, int32_t *changed) {
    int64_t v = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= num_vertices || levels[v] != level) return;
    for (int64_t e = offsets[v]; e < offsets[v + 1]; e++) {
        int32_t w = columns[e];
        if (levels[w] >= 0) continue;
        levels[w] = level + 1;
        *changed = 1;
    }
}

/* Writes the level of each vertex to `levels`, int32[num_vertices], or -1 if the vertex is not reached. Returns the time
 * of the search in ms. */
static double search(int32_t source, int32_t *levels) {
    const int block = 256, zero = 0;
    const unsigned blocks = (unsigned)((graph.num_vertices + block - 1) / block);
    const size_t bytes = (size_t)graph.num_vertices * 4;
    CHECK(cudaEventRecord(first));
    CHECK(cudaMemset(level_array, -1, bytes));
    CHECK(cudaMemcpy(level_array + source, &zero, 4, cudaMemcpyHostToDevice));
    int32_t more = 1;
    for (int32_t level = 0; more; level++) {
        CHECK(cudaMemset(changed, 0, 4));
        expand<<<blocks, block>>>(offsets, columns, graph.num_vertices, level_array, level, changed);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&more, changed, 4, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaEventRecord(last));
    CHECK(cudaEventSynchronize(last));
    float took;
    CHECK(cudaEventElapsedTime(&took, first, last));
    CHECK(cudaMemcpy(levels, level_array, bytes, cudaMemcpyDeviceToHost));
    return took;
}

/* Copies the graph to the device, with offsets of 64 bits. */
static void upload(void) {
    const size_t n = (size_t)graph.num_vertices, m = (size_t)graph.num_edges;
    int64_t *wide = (int64_t *)malloc((n + 1) * 8);
    if (!wide) fail("not enough memory");
    for (size_t v = 0; v <= n; v++) wide[v] = offset(&graph, graph.row_offsets, (int64_t)v);
    CHECK(cudaMalloc(&offsets, (n + 1) * 8));
    CHECK(cudaMalloc(&columns, m * 4 + 4)); /* at least 4 bytes, even if there are no arcs */
    CHECK(cudaMalloc(&level_array, n * 4));
    CHECK(cudaMalloc(&changed, 4));
    CHECK(cudaMemcpy(offsets, wide, (n + 1) * 8, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(columns, graph.column_indices, m * 4, cudaMemcpyHostToDevice));
    free(wide);
}

int main(int argc, char **argv) {
    if (argc != 3) fail("two arguments are wanted: GRAPH ANSWER");
    graph = read_graph(argv[1]);
    upload();
    CHECK(cudaEventCreate(&first));
    CHECK(cudaEventCreate(&last));
    return serve(&graph, argv[2], search);
}
