// Declares the state of CUDA threads and blocks, as far as kernels can read it, and the functions that may
// interrupt a CUDA thread. The runtime library derives its classes Fiber (a CUDA thread) and ResidentBlock (a running
// block) from the structs Thread and Block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call_site.h"
#include "types.h"

// EMU_API exports a function from a shared library. The runtime library exports functions for kernel
// libraries, and a kernel library exports functions for the host.
#define EMU_API __attribute__((visibility("default")))

// Programs that the emulator checks for races, or whose memory accesses it counts, are compiled with
// EMU_WATCH. The compiler then inserts a call to the runtime library before each memory access of a kernel.
// It inserts no calls into functions that are marked EMU_INNER or EMU_OWN. An EMU_OWN function reports its
// accesses itself, and passes its return address as the location of the access.
#if defined(EMU_WATCH) && defined(__clang__)
// EMU_INNER marks helper functions that EMU_OWN functions call.
#define EMU_INNER __attribute__((disable_sanitizer_instrumentation))
#define EMU_OWN __attribute__((noinline)) EMU_INNER
#elif defined(EMU_COUNT) && __GNUC__ >= 12
#define EMU_INNER __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#define EMU_OWN __attribute__((noinline)) EMU_INNER
#elif defined(EMU_WATCH)
#define EMU_INNER __attribute__((no_sanitize("thread")))
#define EMU_OWN __attribute__((noinline)) EMU_INNER
#else
#define EMU_OWN
#define EMU_INNER
#endif
#define EMU_SITE __builtin_return_address(0)

namespace emu {

constexpr unsigned kWarpSize = 32;

struct Block {
    uint3 index;       // value of blockIdx
    dim3 threads;      // value of blockDim
    dim3 grid;         // value of gridDim
    void** arguments;  // addresses of the kernel's arguments, in order
    // One allocation holds all shared memory of the block: the kernel's variables (`shared`), the variables
    // of device functions (`function_shared`), and the dynamic shared memory.
    char* shared;
    char* function_shared;
    char* dynamic_shared;
    bool uses_dynamic;  // true if a watched kernel has named its dynamic shared memory
};

struct Thread {
    uint3 index;     // value of threadIdx
    unsigned rank;   // linear index of the thread in its block
    int patience;    // total cost of the yield_point() calls that remain until other threads run
    int last_error;  // error code that cudaGetLastError returns to this thread
    const void* refused_launch;  // instruction of the failed child launch that set `last_error`
    Block* block;
    // The kernel launch whose arguments this thread is evaluating, or null. Used only in programs with host
    // code.
    struct Configured* configured;
};

// The CUDA thread that now runs on this thread of the operating system, or null outside of kernels. A CUDA
// thread never moves to another thread of the operating system.
EMU_API extern __thread Thread* current __attribute__((tls_model("initial-exec")));

// Suspends the current CUDA thread and lets other CUDA threads run. Returns when it is this thread's turn
// again.
EMU_API void give_way();

// Subtracts `cost` from the current thread's `patience`. If no patience is left, lets other CUDA threads run.
// Atomics, fences and loads that bypass the first-level cache call yield_point(), and in some build modes
// every basic block does. A CUDA thread that calls it often is probably waiting for another thread.
EMU_OWN inline void yield_point(int cost = 1) {
#ifdef EMU_PROGRAM
    if (__builtin_expect(!current, 0)) return;  // functions for host and device also run on the host
#endif
    if (__builtin_expect((current->patience -= cost) <= 0, 0)) give_way();
}

// Ends the running kernel with an error message that names the current CUDA thread. Outside of kernels, ends
// the process.
[[noreturn]] EMU_API void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

enum class Act : unsigned char { read, write, update };

// The scope of a memory access: the set of threads for which the access is atomic. `none` marks a plain
// access, which is not atomic. `block` stands for the threads of one block, and `device` for all threads.
// `by_volatile` marks an access to a volatile variable, which the emulator treats like `device`.
enum class Scope : unsigned char { none, block, device, by_volatile };

// The memory order of an atomic access. `relaxed` orders no other accesses of the thread, `acquire` orders
// its later accesses, `release` orders its earlier accesses, and `acq_rel` orders all of them.
enum class Order : unsigned char { relaxed, acquire, release, acq_rel };

// Reports a memory access of the current CUDA thread. `site` is the address of the accessing instruction. The
// call may let other threads run.
EMU_API void watch(const void* address, size_t bytes, Act act, Scope scope, const void* site,
                   Order order = Order::relaxed);

// refuse_index() reports an index outside an array, and refuse_misaligned() reports a misaligned address.
// Both end the current CUDA thread. They also end the launch, unless the emulator continues after faults.
[[noreturn]] EMU_API void refuse_index(const char* array, int64_t index, const void* site, Act act = Act::read);
[[noreturn]] EMU_API void refuse_misaligned(const void* address, size_t alignment, Act act, const void* site);

// Reports a read by __ldg, or a read of a texture or surface. The read uses a cache that may hold old values
// during a launch. So the read is an error if the running launch has written to `address`.
EMU_API void read_only(const void* address, size_t bytes, const void* site);

// Reports that the current CUDA thread is about to wait at a barrier of its warp, block, cluster or grid.
EMU_API void meet(const void* site);

// Reports that the current lane leaves a loop by a `return` statement that returns a constant. Other lanes of
// the warp may stay in the loop, and so run different code than this lane for a while.
EMU_API void part();

// Executes a memory fence. For the threads in `scope`, the fence orders the current CUDA thread's earlier
// accesses before its later accesses.
EMU_API void fence(Scope scope);

// Calls refuse_misaligned() unless `address` is a multiple of `bytes`.
EMU_INNER inline void require_aligned(const void* address, size_t bytes, Act act, const void* site) {
    if (reinterpret_cast<uintptr_t>(address) % bytes) refuse_misaligned(address, bytes, act, site);
}

// note() reports a plain access that an emulator function such as __ldg makes for the kernel. note_ordered()
// and note_atomic() report accesses with a scope and an order. Without EMU_WATCH, these functions report
// nothing. In this case note_atomic() only lets other CUDA threads run. note_ordered() does the same, unless
// its scope is `none`.
EMU_INNER inline void note([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes, [[maybe_unused]] Act act,
                 [[maybe_unused]] const void* site) {
#ifdef EMU_WATCH
    require_aligned(address, bytes, act, site);
    watch(address, bytes, act, Scope::none, site);
#endif
}
EMU_INNER inline void note_read_only([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes,
                                     [[maybe_unused]] const void* site) {
#ifdef EMU_WATCH
    read_only(address, bytes, site);
#endif
}
EMU_INNER inline void note_ordered([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes,
                         [[maybe_unused]] Act act, Scope scope, [[maybe_unused]] Order order,
                         [[maybe_unused]] const void* site) {
#ifdef EMU_WATCH
    require_aligned(address, bytes, act, site);
    watch(address, bytes, act, scope, site, order);
#else
    if (scope != Scope::none) yield_point();
#endif
}
EMU_INNER inline void note_atomic([[maybe_unused]] const void* address, [[maybe_unused]] size_t bytes,
                        [[maybe_unused]] Scope scope, [[maybe_unused]] const void* site) {
#ifdef EMU_WATCH
    require_aligned(address, bytes, Act::update, site);
    watch(address, bytes, Act::update, scope, site);
#else
    yield_point();
#endif
}

EMU_INNER inline void note_barrier([[maybe_unused]] const void* site) {
#ifdef EMU_WATCH
    meet(site);
#endif
}

EMU_OWN inline unsigned rank() { return current->rank; }
EMU_OWN inline unsigned lane() { return current->rank % kWarpSize; }

inline unsigned volume(dim3 shape) { return shape.x * shape.y * shape.z; }

inline unsigned linear(uint3 index, dim3 shape) { return index.x + shape.x * (index.y + shape.y * index.z); }

}  // namespace emu

#ifdef EMU_WATCH
namespace emu {
EMU_OWN inline uint3 thread_index() { return current->index; }
EMU_OWN inline uint3 block_index() { return current->block->index; }
EMU_OWN inline dim3 block_shape() { return current->block->threads; }
EMU_OWN inline dim3 grid_shape() { return current->block->grid; }
}  // namespace emu
#define threadIdx (::emu::thread_index())
#define blockIdx (::emu::block_index())
#define blockDim (::emu::block_shape())
#define gridDim (::emu::grid_shape())
#else
namespace emu {
inline const uint3& thread_index() { return current->index; }
inline const uint3& block_index() { return current->block->index; }
inline const dim3& block_shape() { return current->block->threads; }
inline const dim3& grid_shape() { return current->block->grid; }
}  // namespace emu
#define threadIdx (::emu::current->index)
#define blockIdx (::emu::current->block->index)
#define blockDim (::emu::current->block->threads)
#define gridDim (::emu::current->block->grid)
#endif

constexpr int warpSize = emu::kWarpSize;
