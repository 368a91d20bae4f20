// CUDA graphs. A graph records launches, copies, memsets and calls of host functions, either from a stream or
// from calls such as cudaGraphAddKernelNode. cudaGraphLaunch runs them one after another.
#pragma once

using cudaGraph_t = struct emu_graph*;
using cudaGraphNode_t = struct emu_node*;
using cudaGraphExec_t = struct emu_graph_exec*;

enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost, cudaGraphNodeTypeGraph,
    cudaGraphNodeTypeEmpty
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess, cudaGraphExecUpdateError, cudaGraphExecUpdateErrorTopologyChanged, cudaGraphExecUpdateErrorNodeTypeChanged
};
struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};
struct cudaKernelNodeParams {
    void* func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};
struct cudaMemsetParams {
    void* dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void* userData;
};

EMU_C cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
EMU_C cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
EMU_C cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
EMU_C cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
EMU_C cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph);
EMU_C cudaError_t cudaGraphDestroy(cudaGraph_t graph);
EMU_C cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaKernelNodeParams* of);
EMU_C cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaMemcpy3DParms* of);
EMU_C cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
EMU_C cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaMemsetParams* of);
EMU_C cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaHostNodeParams* of);
EMU_C cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count);
EMU_C cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, cudaGraph_t child);
EMU_C cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count);
EMU_C cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
EMU_C cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
EMU_C cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
EMU_C cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* of);
EMU_C cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* of);
EMU_C cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long flags = 0);
EMU_C cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t runnable, cudaGraphNode_t node, const cudaKernelNodeParams* of);
EMU_C cudaError_t cudaGraphExecUpdate(cudaGraphExec_t runnable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
EMU_C cudaError_t cudaGraphUpload(cudaGraphExec_t runnable, cudaStream_t stream);
EMU_C cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream);
EMU_C cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable);

// CUDA 11, 12 and 13 declare the functions below with different parameters.
struct cudaGraphEdgeData;
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData*, size_t count) { return cudaGraphAddDependencies(graph, from, to, count); }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long flags = 0) { return cudaGraphInstantiateWithFlags(runnable, graph, flags); }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) { return cudaGraphInstantiateWithFlags(runnable, graph); }
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t runnable, cudaGraph_t graph, cudaGraphNode_t* failed, cudaGraphExecUpdateResult* result) {
    cudaGraphExecUpdateResultInfo info{};
    cudaError_t error = cudaGraphExecUpdate(runnable, graph, &info);
    if (failed) *failed = info.errorNode;
    if (result) *result = info.result;
    return error;
}
