// Launches kernels in programs that also contain host code. The translator turns
// `kernel<<<shape>>>(arguments)` into two steps: the creation of a Configured object, and an ordinary call of
// the function `kernel`. The translator also inserts a first statement into the kernel's body. If a
// Configured object exists, this statement launches the kernel and returns. So the C++ compiler itself
// converts arguments, deduces template arguments and follows pointers to kernels.
#pragma once

#include "kernel.h"
#include "runtime_api.h"

namespace emu {

// The shape of one launch, from `<<<...>>>`. The translated launch expression creates the object, which lives
// until the end of this expression.
struct Configured {
    LaunchShape shape;
    Configured* before;
    const Kernel* described = nullptr;
    // True if the call of the kernel should launch nothing, and only store the kernel's description in
    // `described`.
    bool describes = false;
    CallSite from;
    EMU_INNER explicit Configured(const LaunchShape& shape, CallSite from = EMU_HERE);
};

EMU_API extern __thread Configured* configured __attribute__((tls_model("initial-exec")));
EMU_INNER inline Configured*& top_configured() { return current ? current->configured : configured; }

EMU_INNER inline Configured::Configured(const LaunchShape& shape, CallSite from) : shape(shape), before(top_configured()), from(from) {
    this->shape.cooperative = false;
    top_configured() = this;
}

// This object does not stand for a kernel. It describes all __shared__ variables that are declared outside of
// kernels, for example in device functions, in all files of the program.
inline Kernel device_functions("device_functions", nullptr);

// Holds the description of one kernel. `Tag` is a local class of the kernel, so each kernel has its own
// KernelOf.
template <class Tag>
struct KernelOf {
    static Kernel value;
};
template <class Tag>
Kernel KernelOf<Tag>::value("", &device_functions);

// Removes __restrict__ from the type T of a kernel parameter. The type of a function in C++ does not contain
// the __restrict__ of its parameters. With plain_t, a list of parameter types matches the function's type.
template <class T>
struct Plain {
    using type = T;
};
template <class T>
struct Plain<T* __restrict__> {
    using type = T*;
};
template <class T>
struct Plain<T* const __restrict__> {
    using type = T*;
};
template <class T>
using plain_t = typename Plain<T>::type;

// Launches a kernel for host code, or for a CUDA thread of a running kernel.
EMU_API void launch_program_kernel(const Kernel& kernel, const LaunchShape& shape, const void* const* arguments, const size_t* sizes,
                           unsigned count, const void* site, CallSite from);

EMU_INNER inline bool launching() { return __builtin_expect(top_configured() != nullptr, 0); }

template <class Tag, auto kSelf, class... Parameters>
__attribute__((noinline)) EMU_INNER void launch_self(const char* name, unsigned max_threads, dim3 cluster, const Parameters&... parameters) {
    Kernel& kernel = KernelOf<Tag>::value;
    Configured* launch = top_configured();
    top_configured() = launch->before;
    kernel.cluster = launch->shape.cluster.x ? launch->shape.cluster : cluster;
    if (!kernel.entry) {
        kernel.name = name;
        define<kSelf>(kernel, max_threads, kernel.cluster);
    }
    if (launch->describes) {
        launch->described = &kernel;
        return;
    }
    const void* const arguments[] = {reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(__builtin_addressof(parameters)))..., nullptr};
    const size_t sizes[] = {sizeof(Parameters)..., 0};
    launch_program_kernel(kernel, launch->shape, arguments, sizes, sizeof...(Parameters), EMU_SITE, launch->from);
}

// These functions implement malloc and free for kernels. The emulator checks accesses to this memory as it
// checks accesses to memory from cudaMalloc.
EMU_API void* device_malloc(size_t bytes);
EMU_API bool device_free(void* place);
// Frees memory that host and device share (managed memory). Returns false if `place` is not managed memory.
EMU_API bool shared_free(void* place);
// Turns off two kinds of reports: races between streams and the host, and accesses of the host to device
// buffers. Programs that include Thrust call this function, because the host itself runs Thrust's kernels.
// The emulator would report the accesses of these kernels as accesses of the host. Returns true.
EMU_API bool forget_host_accesses();

// is_in_shared_memory() returns whether an address is in the shared memory of the running block.
// is_on_own_stack() returns whether it is on the stack of the running CUDA thread.
EMU_API bool is_in_shared_memory(const void* address);
EMU_API bool is_on_own_stack(const void* address);

// A __shared__ variable that a program declares outside of functions. Each block has its own copy of the
// variable.
template <class T, class Tag>
class SharedAtFileScope {
    using Element = std::remove_extent_t<T>;

  public:
    operator T&() const { return place(); }
    template <class U, class A = T, class = std::enable_if_t<std::is_array_v<A>>> explicit operator U*() const {
        return reinterpret_cast<U*>(&place()[0]);
    }
    T* operator&() const { return &place(); }
    T& operator=(const Element& value) const { return place() = value; }
    template <class Index> decltype(auto) operator[](Index index) const { return place()[index]; }
    T& operator->() const { return place(); }

  private:
    static T& place() { return shared_variable<T, Tag, device_functions, alignof(T)>(); }
};
template <class T>
class DynamicSharedAtFileScope {
  public:
    operator T*() const { return dynamic_shared<T>(); }
    template <class U> explicit operator U*() const { return reinterpret_cast<U*>(dynamic_shared<T>()); }
    template <class Index> T& operator[](Index index) const { return dynamic_shared<T>()[index]; }
};

// Registers a __device__ or __constant__ variable, so that a program with race detection reports accesses of
// the host to the variable.
EMU_API void add_device_variable(const void* begin, size_t bytes, const char* name);
struct DeviceVariable {
    template <class T>
    EMU_INNER DeviceVariable(const T& variable, const char* name) {
#if defined(EMU_WATCH) && !defined(EMU_COUNT)
        add_device_variable(const_cast<const char*>(&reinterpret_cast<const volatile char&>(variable)), sizeof variable, name);
#endif
    }
};

// How a program was compiled: without checks, with race detection (watched), or with counting of memory
// accesses. All object files of a program must have the same mode.
enum class Mode : int { plain, watched, counting };
struct EMU_API Program {
    // Sets the mode of the program. `python` is the path of the Python interpreter that prints findings and
    // counts when the program ends.
    Program(Mode mode, const char* python);
};
#ifdef EMU_PROGRAM_MODE
static Program program_mode(Mode::EMU_PROGRAM_MODE, EMU_PYTHON);
#endif

}  // namespace emu

#pragma push_macro("gridDim")
#pragma push_macro("blockDim")
#undef gridDim
#undef blockDim
namespace emu {
// The configuration of a launch, as an argument of cudaLaunchKernelEx. `from` is the source line of this
// call.
struct LaunchConfig {
    const cudaLaunchConfig_t* config;
    CallSite from;
    LaunchConfig(const cudaLaunchConfig_t* config, CallSite from = EMU_HERE) : config(config), from(from) {}
};
}  // namespace emu
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(emu::LaunchConfig called, void (*kernel)(Parameters...), Arguments&&... arguments) {
    const cudaLaunchConfig_t* config = called.config;
    emu::LaunchShape shape(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    emu::Configured launch(shape, called.from);
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttributeValue& value = config->attrs[i].val;
        if (config->attrs[i].id == cudaLaunchAttributeCooperative) launch.shape.cooperative = value.cooperative;
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) launch.shape.cluster = dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
    }
    kernel(std::forward<Arguments>(arguments)...);
    return cudaPeekAtLastError();
}
#pragma pop_macro("gridDim")
#pragma pop_macro("blockDim")

inline unsigned __isShared(const void* address) { return emu::is_in_shared_memory(address); }
inline unsigned __isLocal(const void* address) { return emu::is_on_own_stack(address); }
inline unsigned __isGlobal(const void* address) { return !__isShared(address) && !__isLocal(address); }
