// What the translator's output is made of: kernel descriptions, shared variables, child launches.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "state.h"

namespace emu {

// Bytes of shared memory: those of one variable.
struct Extent {
    size_t begin, end;
    bool has(size_t first, size_t bytes) const { return first >= begin && first + bytes <= end; }
};

// One __global__ function, or (the one called device_functions) the shared variables of all others.
// Constant-initialised, so that shared variables can be laid out by static initialisers in any order.
struct Kernel {
    const char* name;
    const Kernel* functions;  // of the same module
    size_t static_shared = 0;
    unsigned max_threads = 0;  // __launch_bounds__, 0 if none
    dim3 cluster = {1, 1, 1};
    void (*entry)() = nullptr;  // body of a fiber that runs threads of this kernel
    unsigned parameters = 0;
    const size_t* parameter_sizes = nullptr;

    constexpr Kernel(const char* name, const Kernel* functions) : name(name), functions(functions) {}

    // In a build that watches, variables lie apart, so that none is reached through another one's end.
    size_t gaps = 0;  // bytes of static_shared that are between variables
    static constexpr unsigned kVariables = 128;
    Extent variables[kVariables] = {};
    unsigned variable_count = 0;

    size_t reserve_shared(size_t bytes, size_t alignment) {
        size_t offset = (static_shared + alignment - 1) / alignment * alignment;
        static_shared = offset + bytes;
#ifdef EMU_WATCH
        if (variable_count < kVariables) variables[variable_count++] = {offset, static_shared};
        static_shared += kGap, gaps += kGap;
#endif
        return offset;
    }
    static constexpr size_t kGap = 1024;

    // What a GPU would take.
    size_t shared_bytes() const { return static_shared - gaps; }

    // The one that has this byte; empty if it is in none.
    Extent variable_at(size_t offset) const {
        if (variable_count == kVariables) return {0, static_shared};  // there may be more than are known
        for (unsigned i = 0; i < variable_count; ++i) {
            if (variables[i].has(offset, 1)) return variables[i];
        }
        return {0, 0};
    }
};

constexpr size_t kSharedAlignment = 16;

template <class T, class Tag, Kernel& Owner, size_t Alignment>
struct SharedVariable {
    static const size_t offset;
};
template <class T, class Tag, Kernel& Owner, size_t Alignment>
const size_t SharedVariable<T, Tag, Owner, Alignment>::offset =
    Owner.reserve_shared(sizeof(T), Alignment > kSharedAlignment ? Alignment : kSharedAlignment);

// The running block's instance of a `__shared__` variable. `Tag` is a local class of the enclosing function,
// which makes the variables of two instances of a function template different ones.
template <class T, class Tag, Kernel& Owner, size_t Alignment>
EMU_OWN inline T& shared_variable() {
    char* base = Owner.functions ? current->block->shared : current->block->function_shared;
    return *reinterpret_cast<T*>(base + SharedVariable<T, Tag, Owner, Alignment>::offset);
}

template <class T>
EMU_OWN inline T (&dynamic_shared()) [] { return *reinterpret_cast<T(*)[]>(current->block->dynamic_shared); }

// The current thread has returned from its kernel. Comes back when another thread is to start on this stack.
EMU_API void finish_thread();

// No frame of their own on the stack, which may be copied when threads take turns.
template <auto kFunction, class... Parameters, size_t... kIndex>
__attribute__((always_inline)) EMU_INNER inline void call(void (*)(Parameters...), void** arguments, std::index_sequence<kIndex...>) {
    kFunction(*static_cast<std::remove_reference_t<Parameters>*>(arguments[kIndex])...);
}

// Threads that neither wait nor are interrupted follow one another in this loop without a switch.
template <auto kFunction, class... Parameters>
__attribute__((always_inline)) EMU_INNER inline void run_threads(void (*signature)(Parameters...)) {
    for (;;) {
        call<kFunction>(signature, current->block->arguments, std::index_sequence_for<Parameters...>{});
        finish_thread();
    }
}

template <auto kFunction>
EMU_OWN void entry() {
    run_threads<kFunction>(kFunction);
}

template <class... Parameters>
inline void set_parameters(Kernel& kernel, void (*)(Parameters...)) {
    static const size_t sizes[] = {sizeof(Parameters)..., 0};
    kernel.parameters = sizeof...(Parameters);
    kernel.parameter_sizes = sizes;
}

template <auto kFunction>
inline Kernel* define(Kernel& kernel, unsigned max_threads, dim3 cluster) {
    kernel.entry = entry<kFunction>;
    kernel.max_threads = max_threads;
    kernel.cluster = cluster;
    set_parameters(kernel, kFunction);
    return &kernel;
}

inline unsigned first_of(unsigned first, ...) { return first; }

}  // namespace emu

using cudaStream_t = struct emu_stream*;
#define cudaStreamTailLaunch (reinterpret_cast<cudaStream_t>(3))
#define cudaStreamFireAndForget (reinterpret_cast<cudaStream_t>(4))

enum cudaError_t : int {
    cudaSuccess = 0,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchPendingCountExceeded = 69,
};

namespace emu {

// Queues a grid that runs when the grid of the current thread has ended.
EMU_API void launch_child(const Kernel& kernel, void (*entry)(), dim3 grid, dim3 block, size_t shared,
                          cudaStream_t stream, const void* const* arguments, const size_t* sizes,
                          unsigned count, const void* site);

struct LaunchShape {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    LaunchShape(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
        : grid(grid), block(block), shared(shared), stream(stream) {}
};

template <auto kFunction, class... Parameters>
EMU_OWN inline void launch_typed(void (*)(Parameters...), const Kernel& kernel, const LaunchShape& shape,
                                 const void* site, std::common_type_t<Parameters>... values) {
    const void* const arguments[] = {&values..., nullptr};
    const size_t sizes[] = {sizeof(values)..., 0};
    launch_child(kernel, entry<kFunction>, shape.grid, shape.block, shape.shared, shape.stream, arguments,
                 sizes, sizeof...(values), site);
}

template <auto kFunction, class... Arguments>
EMU_OWN inline void launch(const Kernel& kernel, const LaunchShape& shape, Arguments... arguments) {
    launch_typed<kFunction>(kFunction, kernel, shape, EMU_SITE, arguments...);
}

}  // namespace emu

EMU_OWN inline cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(emu::current->last_error); }

EMU_OWN inline cudaError_t cudaGetLastError() {
    cudaError_t error = cudaPeekAtLastError();
    emu::current->last_error = cudaSuccess;
    return error;
}
