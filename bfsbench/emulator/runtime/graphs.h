// The recording of CUDA graphs (include/emu/graph_api.h).
#pragma once

#include <functional>
#include <list>
#include <vector>

#include "program.h"

// One node (operation) of a CUDA graph. `run` issues the operation to a stream.
struct emu_node {
    using Run = std::function<cudaError_t(cudaStream_t)>;
    cudaGraphNodeType type;
    Run run;
    std::vector<cudaGraphNode_t> after;  // operations that must end before this one begins
    cudaKernelNodeParams kernel{};
};

struct emu_graph {
    std::list<emu_node> nodes;  // in the order in which the program adds them
    std::list<cudaStream_t> streams;  // the streams that record into this graph
};

namespace emu {

// Returns the graph into which a stream records its operations, or null if the stream does not record.
inline cudaGraph_t recording(cudaStream_t stream) {
    return !current && stream > cudaStreamFireAndForget ? stream->graph : nullptr;
}
// Adds an operation to a graph. It runs after all operations that the graph already has.
cudaError_t record(cudaGraph_t graph, cudaGraphNodeType type, emu_node::Run run);
cudaError_t record_launch(cudaGraph_t graph, const Kernel& kernel, const LaunchShape& shape, void** arguments, bool cooperative, CallSite from);
// Makes a stream record into a graph.
void join(cudaGraph_t graph, cudaStream_t stream);

}  // namespace emu
