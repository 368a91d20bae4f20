// Stacks of CUDA threads, and the functions that switch from one CUDA thread to another.
#pragma once

#include <cstddef>
#include <vector>

namespace emu {

// The saved stack pointer and registers of a suspended CUDA thread or of the worker's loop. Only emu_switch()
// and the functions below use the pointer.
using Context = void*;

// Saves the running thread's registers in *save and continues `to`. Returns when another switch continues
// *save.
extern "C" void emu_switch(Context* save, Context to);

// Returns a Context that starts `entry` on the given stack. `entry` must never return.
Context prepare(char* stack, void (*entry)());

#if defined(__x86_64__) && !defined(__APPLE__) && !defined(EMU_PORTABLE_FIBERS)
#define EMU_ASSEMBLY_SWITCH 1
#endif

// The used part of a stack, copied to a buffer while its CUDA thread is suspended. This lets many CUDA threads
// take turns on one stack. The copies are small and lie close together in memory. If the stacks of all threads
// do not fit the processor's cache, copying is faster than switching stacks.
struct Kept {
    char* place;  // start of the buffer, which has kAligned bytes more than `room`
    size_t bytes, room;

    static constexpr size_t kRoom = 576, kAligned = 64;
};

#if EMU_ASSEMBLY_SWITCH
constexpr bool kSharesStacks = true;
// Copies the running thread's registers and its part of the stack to *from, and continues the thread `to`.
// The two threads share the stack that ends at `top`. The function may read and overwrite the 64 bytes from
// `top` upwards.
extern "C" void emu_exchange(Kept* from, const Kept* to, char* top);
// emu_enter() saves the registers of the running code on the code's own stack, and continues the thread `to`
// on the shared stack. emu_leave() copies the thread on the shared stack to *from, and continues code on
// another stack.
extern "C" void emu_enter(Context* save, const Kept* to, char* top);
extern "C" void emu_leave(Kept* from, Context to, char* top);
#else
constexpr bool kSharesStacks = false;
inline void emu_exchange(Kept*, const Kept*, char*) {}
inline void emu_enter(Context*, const Kept*, char*) {}
inline void emu_leave(Kept*, Context, char*) {}
#endif

// Returns the highest address of a stack that several CUDA threads share. The stack grows downwards from this
// address. The 64 bytes above it are free, as emu_exchange() requires.
char* shared_top(char* stack);
// Prepares a CUDA thread that starts `entry` on a shared stack. `entry` must never return.
void prepare(Kept& kept, void (*entry)());

// Allocates the stacks of CUDA threads. Below each of the first kGuarded stacks lies a page that faults when
// touched. take() returns the stack that was given back most recently, or a new stack if no stack is free.
class StackPool {
  public:
    static constexpr size_t kBytes = 128 << 10;
    // Number of stacks with a guard page. Each guard is a separate mapping. Linux allows a process about
    // 65,000 mappings, so later stacks have no guard.
    static constexpr size_t kGuarded = 28'000;

    StackPool() = default;
    StackPool(const StackPool&) = delete;
    ~StackPool();

    // Returns a stack, or null if the system has no memory for another stack.
    char* take();
    void give(char* stack) { free_.push_back(stack); }
    // Returns free stacks to the operating system until at most `kept` free stacks remain.
    void trim(size_t kept);
    size_t free() const { return free_.size(); }
    size_t allocated() const { return allocated_; }

    static bool is_on(const char* stack, const void* address) {
        return static_cast<size_t>(static_cast<const char*>(address) - stack) < kBytes;
    }
    // Returns whether an address lies in the guard page below a stack.
    static bool in_guard(const char* stack, const void* address);

  private:
    void release_down_to(size_t count);
    std::vector<char*> free_;
    size_t allocated_ = 0;
};

}  // namespace emu
