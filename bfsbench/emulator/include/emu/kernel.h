// Declarations that translated code uses: descriptions of kernels, shared variables, child launches.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "state.h"

namespace emu {

// The bytes of a variable in shared memory.
struct Extent {
    size_t begin, end;
    bool has(size_t first, size_t bytes) const { return first >= begin && first + bytes <= end; }
};

// Describes a __global__ function. The object device_functions holds the shared variables of all other
// functions. Constant initialisation makes it ready before any static initialiser lays out a shared variable.
struct Kernel {
    const char* name;
    const Kernel* functions;  // describes the shared variables of other functions in the module
    size_t static_shared = 0;
    unsigned max_threads = 0;  // from __launch_bounds__, or 0
    dim3 cluster = {1, 1, 1};
    void (*entry)() = nullptr;  // function of a fiber that runs threads of this kernel
    unsigned parameters = 0;
    const size_t* parameter_sizes = nullptr;

    constexpr Kernel(const char* name, const Kernel* functions) : name(name), functions(functions) {}

    // Builds that watch memory accesses leave gaps between shared variables. So an access past the end of a
    // variable does not reach the next variable.
    size_t gaps = 0;  // bytes of static_shared between variables
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

    // Returns how much shared memory a GPU would need.
    size_t shared_bytes() const { return static_shared - gaps; }

    // Returns the variable that contains a byte, or an empty extent if the byte is in none.
    Extent variable_at(size_t offset) const {
        if (variable_count == kVariables) return {0, static_shared};  // there may be more variables than are recorded
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

// Returns the running block's instance of a `__shared__` variable. `Tag` is a local class of the enclosing
// function. So the variables of two instances of a function template differ.
template <class T, class Tag, Kernel& Owner, size_t Alignment>
EMU_OWN inline T& shared_variable() {
    char* base = Owner.functions ? current->block->shared : current->block->function_shared;
    return *reinterpret_cast<T*>(base + SharedVariable<T, Tag, Owner, Alignment>::offset);
}

template <class T>
EMU_OWN inline T (&dynamic_shared()) [] { return *reinterpret_cast<T(*)[]>(current->block->dynamic_shared); }

// Called when the current thread has returned from its kernel. Returns when another thread starts on this
// stack.
EMU_API void finish_thread();

// Calls the kernel. Inlining saves a stack frame, which would be copied when threads take turns.
template <auto kFunction, class... Parameters, size_t... kIndex>
__attribute__((always_inline)) EMU_INNER inline void call(void (*)(Parameters...), void** arguments, std::index_sequence<kIndex...>) {
    kFunction(*static_cast<std::remove_reference_t<Parameters>*>(arguments[kIndex])...);
}

// Runs threads one after another. Threads that neither wait nor are interrupted need no switch.
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

#define cudaStreamTailLaunch (reinterpret_cast<cudaStream_t>(3))
#define cudaStreamFireAndForget (reinterpret_cast<cudaStream_t>(4))

namespace emu {

// Queues a grid that runs after the grid of the current thread.
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

#if !defined(EMU_PROGRAM) && !defined(EMU_RUNTIME)
EMU_OWN inline cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(emu::current->last_error); }

EMU_OWN inline cudaError_t cudaGetLastError() {
    cudaError_t error = cudaPeekAtLastError();
    emu::current->last_error = cudaSuccess;
    return error;
}
#endif
