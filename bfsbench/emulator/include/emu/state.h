// The state of the thread and the block that a kernel can read, and the points where it may be interrupted.
// The runtime derives its Fiber and ResidentBlock from these structs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call_site.h"
#include "types.h"

// Marks functions that the runtime library offers to kernel libraries, or a kernel library to the host.
#define EMU_API __attribute__((visibility("default")))

// Builds that watch define EMU_WATCH. The compiler then calls the runtime before each memory access of a
// kernel. Functions of the emulator are excluded. These functions report their accesses themselves, with the
// place of the call.
#if defined(EMU_WATCH) && defined(__clang__)
#define EMU_INNER __attribute__((disable_sanitizer_instrumentation))  // for functions that EMU_OWN functions call
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
    uint3 index;       // blockIdx
    dim3 threads;      // blockDim
    dim3 grid;         // gridDim
    void** arguments;  // addresses of the kernel's arguments
    // One allocation holds all shared memory of the block: variables of the kernel, variables of device
    // functions, and the dynamic part.
    char* shared;
    char* function_shared;
    char* dynamic_shared;
};

struct Thread {
    uint3 index;     // threadIdx
    unsigned rank;   // linear index in the block
    int patience;    // yield points left until other threads run
    int last_error;  // what cudaGetLastError returns
    const void* refused_launch;  // launch to which last_error belongs
    Block* block;
    struct Configured* configured;  // in a program: the launch whose arguments are being evaluated
};

// The CUDA thread that the calling thread of the operating system runs, or null outside of kernels. A CUDA
// thread never moves to another thread of the operating system.
EMU_API extern __thread Thread* current __attribute__((tls_model("initial-exec")));

// Lets other threads run. Returns when it is this thread's turn again.
EMU_API void give_way();

// Lets other threads run now and then. Atomics, fences and volatile-like loads call it; some builds call it
// at every basic block. A thread that calls it many times probably waits for another thread.
EMU_OWN inline void yield_point(int cost = 1) {
#ifdef EMU_PROGRAM
    if (__builtin_expect(!current, 0)) return;  // functions of host and device run on the host, too
#endif
    if (__builtin_expect((current->patience -= cost) <= 0, 0)) give_way();
}

// Ends the running kernel with an error at the current thread.
[[noreturn]] EMU_API void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

enum class Act : unsigned char { read, write, update };

// The scope of an access: the threads whose atomic accesses to a word do not race with it. `none` stands for a
// plain access, `block` for the threads of the block, and `device` for all threads of the device. `by_volatile`
// marks a volatile access, which the emulator treats as `device`.
enum class Scope : unsigned char { none, block, device, by_volatile };

// The other accesses that an atomic access orders: none, later accesses, earlier accesses, or both.
enum class Order : unsigned char { relaxed, acquire, release, acq_rel };

// Announces an access of the current thread to memory. `site` is the instruction. May interrupt the thread.
EMU_API void watch(const void* address, size_t bytes, Act act, Scope scope, const void* site,
                   Order order = Order::relaxed);

// Fail because the current thread uses an index outside an array, or a misaligned address.
[[noreturn]] EMU_API void refuse_index(const char* array, int64_t index, const void* site);
[[noreturn]] EMU_API void refuse_misaligned(const void* address, size_t alignment, Act act, const void* site);

// Announces a read by __ldg, whose cache does not see what the running launch writes.
EMU_API void read_only(const void* address, size_t bytes, const void* site);

// Announces that the current thread waits at a barrier of its warp, block, cluster or grid.
EMU_API void meet(const void* site);

// Announces that the current thread leaves a loop early, for a place that lanes which finish the loop do not
// reach.
EMU_API void part();

// Orders earlier accesses of the thread before its later ones, for threads in the scope.
EMU_API void fence(Scope scope);

// Fails unless the address is a multiple of `bytes`.
EMU_INNER inline void require_aligned(const void* address, size_t bytes, Act act, const void* site) {
    if (reinterpret_cast<uintptr_t>(address) % bytes) refuse_misaligned(address, bytes, act, site);
}

// Announces an access by a function of the emulator. In any build, atomics and polling loads may interrupt
// the thread.
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
