// The state of the thread and block that a kernel can read, and the points where it may be interrupted.
// The runtime extends both structures with what scheduling needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types.h"

// Offered by the runtime library to kernel libraries, or by a kernel library to the host.
#define EMU_API __attribute__((visibility("default")))

// In a build that watches (EMU_WATCH), the compiler calls the runtime before every access to memory that a
// kernel makes. The emulator's own functions are left out: each says itself what it does for the kernel, and
// where it was called.
#if defined(EMU_WATCH) && defined(__clang__)
#define EMU_INNER __attribute__((disable_sanitizer_instrumentation))  // called by EMU_OWN functions
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
    // One arena holds all shared memory of the block: the kernel's own variables, those of device functions,
    // and the dynamic part.
    char* shared;
    char* function_shared;
    char* dynamic_shared;
};

struct Thread {
    uint3 index;     // threadIdx
    unsigned rank;   // linear index in the block
    int patience;    // yield points left until others get their turn
    int last_error;  // what cudaGetLastError returns
    const void* refused_launch;  // where that comes from
    Block* block;
};

// The thread that runs on this core now; null outside kernels. A thread never moves to another core.
EMU_API extern __thread Thread* current __attribute__((tls_model("initial-exec")));

// Lets other threads run, and returns when it is this thread's turn again.
EMU_API void give_way();

// Places where a thread may be interrupted: atomics, fences, volatile-like loads and, in code that is
// compiled for it, every basic block. A thread that passes many of them is taken to wait for another one.
EMU_OWN inline void yield_point(int cost = 1) {
    if (__builtin_expect((current->patience -= cost) <= 0, 0)) give_way();
}

// Ends the running kernel with an error at the current thread.
[[noreturn]] EMU_API void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

enum class Act : unsigned char { read, write, update };

// Which threads may use the word at the same time: none, or those of the block or device, as with atomics. By volatile
// accesses those of the device may, too.
enum class Scope : unsigned char { none, block, device, by_volatile };

// What else an atomic access puts in order: nothing, what follows it, what came before it, or both.
enum class Order : unsigned char { relaxed, acquire, release, acq_rel };

// Where a barrier or a function of the warp is called.
struct CallSite {
    int line;
    const char* file;
};
#define EMU_HERE {__builtin_LINE(), __builtin_FILE()}

// The current thread is about to touch memory; `site` is the instruction. May interrupt it.
EMU_API void watch(const void* address, size_t bytes, Act act, Scope scope, const void* site,
                   Order order = Order::relaxed);

// The current thread would use an index that the array does not have, or an address that is not a multiple of what its
// type asks for: fails.
[[noreturn]] EMU_API void refuse_index(const char* array, int64_t index, const void* site);
[[noreturn]] EMU_API void refuse_misaligned(const void* address, size_t alignment, Act act, const void* site);

// The current thread is about to read by way of a cache that does not see what its own launch writes.
EMU_API void read_only(const void* address, size_t bytes, const void* site);

// The current thread is about to wait for others at a barrier of its warp, block, cluster or grid.
EMU_API void meet(const void* site);

// The current thread leaves a loop before its end, to go where those that end it do not.
EMU_API void part();

// Orders what the thread has done before what it does after, for threads of the scope.
EMU_API void fence(Scope scope);

// Words and vectors are whole multiples of their sizes.
EMU_INNER inline void require_aligned(const void* address, size_t bytes, Act act, const void* site) {
    if (reinterpret_cast<uintptr_t>(address) % bytes) refuse_misaligned(address, bytes, act, site);
}

// An access by a function of the emulator; atomics and polling loads may be interrupted in any build.
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
#define threadIdx (::emu::current->index)
#define blockIdx (::emu::current->block->index)
#define blockDim (::emu::current->block->threads)
#define gridDim (::emu::current->block->grid)
#endif

constexpr int warpSize = emu::kWarpSize;
