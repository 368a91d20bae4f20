// Stacks of fibers, and the switch between them.
#pragma once

#include <cstddef>
#include <vector>

namespace emu {

// A suspended flow of control. Only the functions below read its members.
using Context = void*;

// Saves the running flow in *save and continues `to`. Returns when another flow switches to *save.
extern "C" void emu_switch(Context* save, Context to);

// Returns a context that starts `entry` on a stack. `entry` must never return.
Context prepare(char* stack, void (*entry)());

#if defined(__x86_64__) && !defined(__APPLE__) && !defined(EMU_PORTABLE_FIBERS)
#define EMU_ASSEMBLY_SWITCH 1
#endif

// The part of a flow on a shared stack, copied away while the flow is suspended. Many flows can take turns on
// one stack. Copying is faster than switching stacks if the stacks of all flows would not fit the processor's
// cache, because the copied parts are small and lie side by side.
struct Kept {
    char* place;  // has kAligned bytes more than `room`
    size_t bytes, room;

    static constexpr size_t kRoom = 576, kAligned = 64;
};

#if EMU_ASSEMBLY_SWITCH
constexpr bool kSharesStacks = true;
// Keeps the running flow in *from and continues `to`. The two flows share the stack that ends at `top`. 64
// bytes behind this stack must be free.
extern "C" void emu_exchange(Kept* from, const Kept* to, char* top);
// emu_enter leaves the running flow on its own stack, and continues a kept flow on the shared stack. emu_leave
// keeps the running flow of the shared stack, and continues a flow on another stack.
extern "C" void emu_enter(Context* save, const Kept* to, char* top);
extern "C" void emu_leave(Kept* from, Context to, char* top);
#else
constexpr bool kSharesStacks = false;
inline void emu_exchange(Kept*, const Kept*, char*) {}
inline void emu_enter(Context*, const Kept*, char*) {}
inline void emu_leave(Kept*, Context, char*) {}
#endif

// Returns the end of a stack that several flows of control share.
char* shared_top(char* stack);
// Prepares a kept flow that starts `entry`. `entry` must never return.
void prepare(Kept& kept, void (*entry)());

// Stacks for fibers. Below each of the first kGuarded stacks lies a page that faults when touched. take()
// returns the stack that was given back most recently.
class StackPool {
  public:
    static constexpr size_t kBytes = 128 << 10;
    // Each guard is a separate mapping. Linux allows a process about 65,000 mappings, so later stacks have no
    // guard.
    static constexpr size_t kGuarded = 28'000;

    StackPool() = default;
    StackPool(const StackPool&) = delete;
    ~StackPool();

    // Returns a stack, or null if the system has no memory for another one.
    char* take();
    void give(char* stack) { free_.push_back(stack); }
    // Returns free stacks to the system until at most `kept` remain.
    void trim(size_t kept);
    size_t free() const { return free_.size(); }
    size_t allocated() const { return allocated_; }

    static bool is_on(const char* stack, const void* address) {
        return static_cast<size_t>(static_cast<const char*>(address) - stack) < kBytes;
    }
    // Returns whether an address lies in the page below a stack.
    static bool in_guard(const char* stack, const void* address);

  private:
    void release_down_to(size_t count);
    std::vector<char*> free_;
    size_t allocated_ = 0;
};

}  // namespace emu
