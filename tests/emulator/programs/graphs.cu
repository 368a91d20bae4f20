// CUDA graphs, and launches with attributes.
#include <cooperative_groups.h>

#include <vector>

#include "expect.h"

namespace cg = cooperative_groups;

__global__ void add(int *x, int value) { x[threadIdx.x] += value; }
__global__ void first_of_next(int *out) {
    __shared__ int own;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) own = blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&own, (cluster.block_rank() + 1) % cluster.num_blocks());
    cluster.sync();
}
void count(void *calls) { ++*static_cast<int *>(calls); }

// Records work of two streams that an event connects, and launches it twice.
void captured(int *x, int *host) {
    cudaStream_t stream, other;
    cudaEvent_t event;
    DO(cudaStreamCreate(&stream));
    DO(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    DO(cudaEventCreate(&event));
    int calls = 0, *y;
    DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    DO(cudaMemsetAsync(x, 0, 32 * sizeof(int), stream));
    for (int value = 1; value < 4; ++value) add<<<1, 32, 0, stream>>>(x, value);
    DO(cudaEventRecord(event, stream));
    DO(cudaStreamWaitEvent(other, event));
    DO(cudaMemcpyAsync(host, x, 32 * sizeof(int), cudaMemcpyDeviceToHost, other));
    DO(cudaLaunchHostFunc(other, count, &calls));
    DO(cudaEventRecord(event, other));
    DO(cudaStreamWaitEvent(stream, event));
    IS(cudaErrorStreamCaptureUnsupported, cudaMallocAsync(&y, 4, stream));
    IS(cudaErrorStreamCaptureUnsupported, cudaFreeAsync(x, other));
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    cudaGetLastError();
    cudaStreamCaptureStatus status;
    DO(cudaStreamIsCapturing(other, &status));
    TRUE(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph;
    DO(cudaStreamEndCapture(stream, &graph));
    DO(cudaStreamIsCapturing(other, &status));
    TRUE(status == cudaStreamCaptureStatusNone && host[0] == -1 && calls == 0);
    cudaGraphExec_t runnable;
    DO(cudaGraphInstantiate(&runnable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 2; ++i) DO(cudaGraphLaunch(runnable, stream));
    DO(cudaStreamSynchronize(stream));
    TRUE(host[31] == 6 && calls == 2);
    DO(cudaGraphExecDestroy(runnable));
    DO(cudaGraphDestroy(graph));
    DO(cudaEventDestroy(event));
    DO(cudaStreamDestroy(stream));
    DO(cudaStreamDestroy(other));
}

// Builds a graph from nodes whose order only the dependencies give, and changes it.
void built(int *x, int *host) {
    cudaGraph_t graph, copy;
    DO(cudaGraphCreate(&graph, 0));
    int value = 5;
    void *arguments[] = {&x, &value};
    cudaKernelNodeParams kernel{};
    kernel.func = (void *)add;
    kernel.gridDim = dim3(1), kernel.blockDim = dim3(32);
    kernel.kernelParams = arguments;
    cudaMemsetParams words{};
    words.dst = x, words.value = 7, words.elementSize = sizeof(int), words.width = 32, words.height = 1;
    cudaGraphNode_t last, middle, first, empty;
    DO(cudaGraphAddMemcpyNode1D(&last, graph, nullptr, 0, host, x, 32 * sizeof(int), cudaMemcpyDeviceToHost));
    DO(cudaGraphAddKernelNode(&middle, graph, nullptr, 0, &kernel));
    DO(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &words));
    DO(cudaGraphAddEmptyNode(&empty, graph, &last, 1));
    cudaGraphNode_t from[] = {first, middle}, to[] = {middle, last};
    DO(cudaGraphAddDependencies(graph, from, to, 2));
    size_t nodes = 0, roots = 0;
    DO(cudaGraphGetNodes(graph, nullptr, &nodes));
    DO(cudaGraphGetRootNodes(graph, nullptr, &roots));
    TRUE(nodes == 4 && roots == 1);
    cudaGraphExec_t runnable;
    DO(cudaGraphInstantiate(&runnable, graph, 0));
    value = 0;  // the node has its own copy of the argument
    DO(cudaGraphLaunch(runnable, 0));
    DO(cudaDeviceSynchronize());
    TRUE(host[3] == 12);
    DO(cudaGraphClone(&copy, graph));
    value = 100;
    DO(cudaGraphExecKernelNodeSetParams(runnable, middle, &kernel));
    DO(cudaGraphLaunch(runnable, 0));
    DO(cudaDeviceSynchronize());
    TRUE(host[3] == 107);
    cudaGraphExecUpdateResultInfo result;
    DO(cudaGraphExecUpdate(runnable, copy, &result));
    DO(cudaGraphLaunch(runnable, 0));
    DO(cudaDeviceSynchronize());
    TRUE(host[3] == 12);
    DO(cudaGraphAddDependencies(graph, &last, &first, 1));
    cudaGraphExec_t never;
    IS(cudaErrorInvalidValue, cudaGraphInstantiate(&never, graph, 0));  // the dependencies form a cycle
    cudaGetLastError();
    DO(cudaGraphExecDestroy(runnable));
    DO(cudaGraphDestroy(copy));
    DO(cudaGraphDestroy(graph));
}

void with_attributes(int *x, int *host) {
    cudaLaunchAttribute attributes[1];
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = 4, attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(8), config.blockDim = dim3(32);
    config.attrs = attributes, config.numAttrs = 1;
    DO(cudaLaunchKernelEx(&config, first_of_next, x));
    DO(cudaMemcpy(host, x, 8 * sizeof(int), cudaMemcpyDeviceToHost));
    TRUE(host[0] == 1 && host[3] == 0 && host[7] == 4);
    config.gridDim = dim3(6);
    IS(cudaErrorInvalidConfiguration, cudaLaunchKernelEx(&config, first_of_next, x));
    cudaGetLastError();
}

int main() {
    int *x, *host;
    DO(cudaMalloc(&x, 32 * sizeof(int)));
    DO(cudaMallocHost(&host, 32 * sizeof(int)));
    for (int i = 0; i < 32; ++i) host[i] = -1;
    captured(x, host);
    built(x, host);
    with_attributes(x, host);
    DO(cudaFree(x));
    DO(cudaFreeHost(host));
    printf("%d failures\n", failures);
}
