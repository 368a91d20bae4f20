// What a kernel may see of the thread and block it runs in, and the points where it may be interrupted.
// The runtime extends both structures with what scheduling needs.
#pragma once

#include <cstddef>

#include "types.h"

// Offered by the runtime library to kernel libraries, or by a kernel library to the host.
#define EMU_API __attribute__((visibility("default")))

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
    Block* block;
};

// The thread that runs on this core now; null outside kernels. A thread never moves to another core.
EMU_API extern __thread Thread* current __attribute__((tls_model("initial-exec")));

// Lets other threads run, and returns when it is this thread's turn again.
EMU_API void give_way();

// Places where a thread may be interrupted: atomics, fences, volatile-like loads and, in code that is
// compiled for it, every basic block. A thread that passes many of them is taken to wait for another one.
inline void yield_point(int cost = 1) {
    if (__builtin_expect((current->patience -= cost) <= 0, 0)) give_way();
}

// Ends the running kernel with an error at the current thread.
[[noreturn]] EMU_API void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

inline unsigned lane() { return current->rank % kWarpSize; }

inline unsigned volume(dim3 shape) { return shape.x * shape.y * shape.z; }

inline unsigned linear(uint3 index, dim3 shape) { return index.x + shape.x * (index.y + shape.y * index.z); }

}  // namespace emu

#define threadIdx (::emu::current->index)
#define blockIdx (::emu::current->block->index)
#define blockDim (::emu::current->block->threads)
#define gridDim (::emu::current->block->grid)

constexpr int warpSize = emu::kWarpSize;
