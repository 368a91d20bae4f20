// Declarations for the C++ code that the translator generates: descriptions of kernels, shared variables, and
// launches of child kernels.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "state.h"

namespace emu {

// The range of bytes of one __shared__ variable. `begin` and `end` are offsets from the first shared variable
// of the kernel. For a variable of a device function they are offsets from the first shared variable of the
// device functions, which are stored separately.
struct Extent {
    size_t begin, end;
    const char* name;  // null if the variable has no name in the source
    bool has(size_t first, size_t bytes) const { return first >= begin && first + bytes <= end; }
};

// Describes one __global__ function. The translator generates one Kernel object per kernel. A separate
// object, device_functions, describes the shared variables of all other functions. The constructor is
// constexpr, because a Kernel object must already be initialised when the initialisers of static variables
// call its reserve_shared().
struct Kernel {
    const char* name;
    // Points to the object that describes the shared variables of the module's device functions. The pointer
    // is null in that object itself.
    const Kernel* functions;
    size_t static_shared = 0;
    // Largest number of threads per block that __launch_bounds__ allows, or 0 if the kernel has no limit.
    unsigned max_threads = 0;
    dim3 cluster = {1, 1, 1};
    void (*entry)() = nullptr;  // start function of each CUDA thread of this kernel
    unsigned parameters = 0;
    const size_t* parameter_sizes = nullptr;

    constexpr Kernel(const char* name, const Kernel* functions) : name(name), functions(functions) {}

    // If a program is compiled with EMU_WATCH, unused bytes (gaps) separate its shared variables. So an
    // access just after the end of a variable does not hit the next variable.
    size_t gaps = 0;  // bytes of `static_shared` that lie in gaps between variables
    static constexpr unsigned kVariables = 128;
    Extent variables[kVariables] = {};
    unsigned variable_count = 0;

    size_t reserve_shared(size_t bytes, size_t alignment, [[maybe_unused]] const char* variable) {
        size_t offset = (static_shared + alignment - 1) / alignment * alignment;
        static_shared = offset + bytes;
#ifdef EMU_WATCH
        if (variable_count < kVariables) variables[variable_count++] = {offset, static_shared, variable};
        static_shared += kGap, gaps += kGap;
#endif
        return offset;
    }
    static constexpr size_t kGap = 1024;

    // Returns the number of bytes of shared memory that a block would need on a GPU. A GPU needs no gaps
    // between variables.
    size_t shared_bytes() const { return static_shared - gaps; }

    // Returns the last shared variable that begins at `offset` or before it. The byte at `offset` may lie in
    // the gap after this variable. Returns an empty Extent if there is no such variable.
    Extent variable_at(size_t offset) const {
        // If the list of variables is full, some variables may be missing from it. In this case the whole
        // shared memory counts as one variable.
        if (variable_count == kVariables) return {0, static_shared, nullptr};
        for (unsigned i = variable_count; i-- > 0;) {
            if (variables[i].begin <= offset) return variables[i];
        }
        return {0, 0, nullptr};
    }
};

constexpr size_t kSharedAlignment = 16;
constexpr size_t kMostStatic = 48 << 10;  // CUDA's limit of the shared variables of a block

template <class T, class Tag, Kernel& Owner, size_t Alignment>
struct SharedVariable {
    static_assert(sizeof(T) <= kMostStatic, "a __shared__ variable has more than 48 KB");
    static const size_t offset;
};
// Returns the name of a shared variable, which the translator has stored in the class `Tag`. Returns null if
// `Tag` has no name.
template <class Tag>
auto name_of(int) -> decltype(Tag::name()) {
    return Tag::name();
}
template <class Tag>
const char* name_of(...) {
    return nullptr;
}
template <class T, class Tag, Kernel& Owner, size_t Alignment>
const size_t SharedVariable<T, Tag, Owner, Alignment>::offset =
    Owner.reserve_shared(sizeof(T), Alignment > kSharedAlignment ? Alignment : kSharedAlignment, name_of<Tag>(0));

// Returns the running block's copy of a `__shared__` variable. `Tag` is a local class of the function that
// declares the variable. So each instance of a function template has its own variable.
template <class T, class Tag, Kernel& Owner, size_t Alignment>
EMU_OWN inline T& shared_variable() {
    char* base = Owner.functions ? current->block->shared : current->block->function_shared;
    return *reinterpret_cast<T*>(base + SharedVariable<T, Tag, Owner, Alignment>::offset);
}

template <class T>
EMU_OWN inline T (&dynamic_shared()) [] {
#ifdef EMU_WATCH
    current->block->uses_dynamic = true;
#endif
    return *reinterpret_cast<T(*)[]>(current->block->dynamic_shared);
}

// Ends the current CUDA thread, which has returned from its kernel. The emulator may start another CUDA
// thread on the same stack. In this case the call returns in the new thread.
EMU_API void finish_thread();

// True if the platform's C++ ABI passes a parameter of type T as a pointer to an object of the caller. This
// applies to classes with a copy constructor, move constructor or destructor of their own.
template <class T>
constexpr bool kPassedByAddress =
    !std::is_trivially_destructible_v<T> || (std::is_copy_constructible_v<T> && !std::is_trivially_copy_constructible_v<T>) ||
    (std::is_move_constructible_v<T> && !std::is_trivially_move_constructible_v<T>) ||
    (!std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T>);

// A copy of the bytes of a kernel argument, for one CUDA thread. As on a GPU, no thread runs the copy
// constructor or the destructor of the argument's class.
template <class T>
class Bytes {
  public:
    EMU_INNER explicit Bytes(const void* argument) { memcpy(bytes_, argument, sizeof(T)); }
    EMU_INNER operator void*() { return bytes_; }

  private:
    alignas(T) char bytes_[sizeof(T)];
};

template <class T>
using Passed = std::conditional_t<kPassedByAddress<T>, void*, T>;
template <class T>
using Argument = std::conditional_t<kPassedByAddress<T>, Bytes<T>, std::remove_reference_t<T>&>;
template <class T>
__attribute__((always_inline)) EMU_INNER inline Argument<T> argument(void* place) {
    if constexpr (kPassedByAddress<T>) {
        return Bytes<T>(place);
    } else {
        return *static_cast<std::remove_reference_t<T>*>(place);
    }
}

// Calls the kernel function with the arguments of the launch. The function is inlined to keep the stack
// small, because a switch of threads may copy the used part of the stack.
template <auto kFunction, class... Parameters, size_t... kIndex>
__attribute__((always_inline)) EMU_INNER inline void call(void (*)(Parameters...), void** arguments, std::index_sequence<kIndex...>) {
    if constexpr ((kPassedByAddress<Parameters> || ...)) {
        reinterpret_cast<void (*)(Passed<Parameters>...)>(kFunction)(argument<Parameters>(arguments[kIndex])...);
    } else {
        kFunction(argument<Parameters>(arguments[kIndex])...);
    }
}

// Runs CUDA threads one after another on one stack. If a thread ends without waiting, the next thread starts
// without a switch of stacks.
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

// Queues a launch that the current CUDA thread requests (a child kernel). The child's grid runs after the
// grid of the current thread. If the launch is refused, the function only sets the thread's last error.
EMU_API void launch_child(const Kernel& kernel, void (*entry)(), dim3 grid, dim3 block, size_t shared,
                          cudaStream_t stream, const void* const* arguments, const size_t* sizes,
                          unsigned count, const void* site);

struct LaunchShape {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    bool cooperative = true;  // false if the kernel may not wait for the whole grid
    dim3 cluster = {0, 0, 0};  // the cluster that the launch asks for, or zeros if it asks for none
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
