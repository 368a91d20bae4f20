// Implements CUDA graphs (include/emu/graph_api.h). The operations of a graph run one after another, in an
// order that its dependencies allow.
#include "graphs.h"

#include <algorithm>

#pragma push_macro("gridDim")
#pragma push_macro("blockDim")
#undef gridDim
#undef blockDim

#undef API
#define API extern "C" EMU_API

// A graph that can run: its operations in order, with the nodes that describe them.
struct emu_graph_exec {
    std::vector<std::pair<cudaGraphNode_t, emu_node>> steps;
};

namespace {

cudaError_t refused_if(bool wrong, cudaError_t error = cudaErrorInvalidValue) { return emu::ProgramDevice::get().note(wrong ? error : cudaSuccess); }

// Returns an operation that launches a kernel with copies of its arguments.
emu_node::Run launch_of(const emu::Kernel& kernel, const emu::LaunchShape& shape, void* const* arguments, bool cooperative, emu::CallSite from) {
    std::vector<std::vector<char>> values;
    for (unsigned i = 0; i < kernel.parameters; ++i) {
        auto* bytes = static_cast<const char*>(arguments[i]);
        values.emplace_back(bytes, bytes + kernel.parameter_sizes[i]);
    }
    return [&kernel, shape, values, cooperative, from](cudaStream_t stream) mutable {
        std::vector<void*> places;
        for (auto& value : values) places.push_back(value.data());
        emu::LaunchShape wanted = shape;
        wanted.stream = stream;
        return emu::ProgramDevice::get().launch(kernel, wanted, places.data(), cooperative, from);
    };
}
// Returns an operation that launches the kernel of a node. Returns an empty function if `of` names no kernel.
emu_node::Run launch_of(const cudaKernelNodeParams* of) {
    const emu::Kernel* kernel = of && of->func ? emu::describe(of->func) : nullptr;
    if (!kernel || (kernel->parameters && !of->kernelParams)) return {};
    return launch_of(*kernel, emu::LaunchShape(of->gridDim, of->blockDim, of->sharedMemBytes), of->kernelParams, false, {});
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, cudaGraphNodeType type, emu_node::Run run) {
    if (!node || !graph || !run || (count && !after)) return refused_if(true);
    graph->nodes.push_back({type, std::move(run), std::vector<cudaGraphNode_t>(after, after + count), {}});
    return *node = &graph->nodes.back(), refused_if(false);
}

// Returns the nodes of a graph in an order that its dependencies allow. Returns fewer nodes if the dependencies
// form a cycle.
std::vector<cudaGraphNode_t> in_order(emu_graph& graph) {
    std::vector<cudaGraphNode_t> order, left;
    for (emu_node& node : graph.nodes) left.push_back(&node);
    auto is_ready = [&](cudaGraphNode_t node) {
        return std::all_of(node->after.begin(), node->after.end(), [&](cudaGraphNode_t other) { return std::find(left.begin(), left.end(), other) == left.end(); });
    };
    for (auto next = left.begin(); (next = std::find_if(left.begin(), left.end(), is_ready)) != left.end();) {
        order.push_back(*next);
        left.erase(next);
    }
    return order;
}

// Lists the nodes of a graph for which `chosen` returns true: writes pointers to them to the array
// `nodes`. On entry, `count` is the length of this array. On return, `count` is the number of pointers
// written. If `nodes` is null, `count` becomes the number of these nodes.
template <class Chosen>
cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count, Chosen chosen) {
    if (!graph || !count) return refused_if(true);
    size_t found = 0, room = nodes ? *count : 0;
    for (emu_node& node : graph->nodes) {
        if (!chosen(node)) continue;
        if (found < room) nodes[found] = &node;
        ++found;
    }
    *count = nodes ? std::min(room, found) : found;
    return refused_if(false);
}

}  // namespace

cudaError_t emu::record(cudaGraph_t graph, cudaGraphNodeType type, emu_node::Run run) {
    std::vector<cudaGraphNode_t> after;
    if (!graph->nodes.empty()) after.push_back(&graph->nodes.back());
    cudaGraphNode_t node;
    return add_node(&node, graph, after.data(), after.size(), type, std::move(run));
}
cudaError_t emu::record_launch(cudaGraph_t graph, const Kernel& kernel, const LaunchShape& shape, void** arguments, bool cooperative, CallSite from) {
    return record(graph, cudaGraphNodeTypeKernel, launch_of(kernel, shape, arguments, cooperative, from));
}
void emu::join(cudaGraph_t graph, cudaStream_t stream) {
    if (stream <= cudaStreamFireAndForget || stream->graph) return;
    stream->graph = graph;
    graph->streams.push_back(stream);
}

API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (stream <= cudaStreamFireAndForget) return refused_if(true, cudaErrorStreamCaptureUnsupported);
    if (stream->graph) return refused_if(true, cudaErrorIllegalState);
    emu::join(new emu_graph, stream);
    return refused_if(false);
}
API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    *graph = emu::recording(stream);
    if (!*graph) return refused_if(true, cudaErrorIllegalState);
    for (cudaStream_t of : (*graph)->streams) of->graph = nullptr;
    (*graph)->streams.clear();
    return refused_if(false);
}
API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = emu::recording(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return refused_if(false);
}

API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) { return *graph = new emu_graph, refused_if(false); }
API cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, refused_if(false); }
API cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
    if (!copy || !graph) return refused_if(true);
    *copy = new emu_graph{graph->nodes, {}};
    for (emu_node& node : (*copy)->nodes) {
        for (cudaGraphNode_t& other : node.after) {
            auto is_other = [&](const emu_node& of) { return &of == other; };
            auto place = std::find_if(graph->nodes.begin(), graph->nodes.end(), is_other);
            other = &*std::next((*copy)->nodes.begin(), std::distance(graph->nodes.begin(), place));
        }
    }
    return refused_if(false);
}
API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaKernelNodeParams* of) {
    cudaError_t error = add_node(node, graph, after, count, cudaGraphNodeTypeKernel, launch_of(of));
    if (error == cudaSuccess) (*node)->kernel = *of;
    return error;
}
API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaMemcpy3DParms* of) {
    if (!of) return refused_if(true);
    return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy, [of = *of](cudaStream_t stream) { return cudaMemcpy3DAsync(&of, stream); });
}
API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return add_node(node, graph, after, count, cudaGraphNodeTypeMemcpy, [=](cudaStream_t stream) { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}
API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaMemsetParams* of) {
    if (!of || (of->elementSize != 1 && of->elementSize != 2 && of->elementSize != 4)) return refused_if(true);
    return add_node(node, graph, after, count, cudaGraphNodeTypeMemset, [of = *of](cudaStream_t stream) {
        size_t width = of.width * of.elementSize, pitch = of.height > 1 ? of.pitch : width;
        std::vector<char> row(width);
        for (size_t i = 0; i < width; ++i) row[i] = reinterpret_cast<const char*>(&of.value)[i % of.elementSize];
        for (size_t y = 0; y < of.height; ++y) {
            if (cudaError_t error = cudaMemcpyAsync(static_cast<char*>(of.dst) + y * pitch, row.data(), width, cudaMemcpyHostToDevice, stream)) return error;
        }
        return cudaSuccess;
    });
}
API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, const cudaHostNodeParams* of) {
    if (!of || !of->fn) return refused_if(true);
    return add_node(node, graph, after, count, cudaGraphNodeTypeHost, [of = *of](cudaStream_t stream) { return cudaLaunchHostFunc(stream, of.fn, of.userData); });
}
API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
    return add_node(node, graph, after, count, cudaGraphNodeTypeEmpty, [](cudaStream_t) { return cudaSuccess; });
}
API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, cudaGraph_t child) {
    if (!child) return refused_if(true);
    std::vector<emu_node::Run> runs;
    for (cudaGraphNode_t of : in_order(*child)) runs.push_back(of->run);
    return add_node(node, graph, after, count, cudaGraphNodeTypeGraph, [runs](cudaStream_t stream) {
        for (const emu_node::Run& run : runs) {
            if (cudaError_t error = run(stream)) return error;
        }
        return cudaSuccess;
    });
}
API cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
    return refused_if(false);
}
API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return list_nodes(graph, nodes, count, [](const emu_node&) { return true; });
}
API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return list_nodes(graph, nodes, count, [](const emu_node& node) { return node.after.empty(); });
}
API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) { return *type = node->type, refused_if(false); }
API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* of) {
    return *of = node->kernel, refused_if(!node->kernel.func);
}
API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* of) {
    emu_node::Run run = launch_of(of);
    if (!run || node->type != cudaGraphNodeTypeKernel) return refused_if(true);
    node->run = run;
    return node->kernel = *of, refused_if(false);
}

API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
    if (!runnable || !graph) return refused_if(true);
    std::vector<cudaGraphNode_t> order = in_order(*graph);
    if (order.size() < graph->nodes.size()) return refused_if(true);  // the dependencies form a cycle
    *runnable = new emu_graph_exec;
    for (cudaGraphNode_t node : order) (*runnable)->steps.emplace_back(node, *node);
    return refused_if(false);
}
API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t runnable, cudaGraphNode_t node, const cudaKernelNodeParams* of) {
    emu_node::Run run = launch_of(of);
    for (auto& [known, step] : runnable->steps) {
        if (known == node && run) return step.run = run, refused_if(false);
    }
    return refused_if(true);
}
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t runnable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
    std::vector<cudaGraphNode_t> order = in_order(*graph);
    bool is_same = order.size() == runnable->steps.size();
    for (size_t i = 0; i < order.size() && is_same; ++i) is_same = order[i]->type == runnable->steps[i].second.type;
    *result = {is_same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
    for (size_t i = 0; i < order.size() && is_same; ++i) runnable->steps[i].second.run = order[i]->run;
    return refused_if(!is_same, cudaErrorGraphExecUpdateFailure);
}
API cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return refused_if(false); }
API cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
    if (!runnable) return refused_if(true);
    for (auto& [node, step] : runnable->steps) {
        if (cudaError_t error = step.run(stream)) return error;
    }
    return refused_if(false);
}
API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) { return delete runnable, refused_if(false); }

#pragma pop_macro("gridDim")
#pragma pop_macro("blockDim")
