// Stacks and the switch between them.
#pragma once

#include <cstddef>
#include <vector>

namespace emu {

// A suspended flow of control; only switch_to may look inside.
using Context = void*;

// Saves the running flow in *save and continues `to`. Returns when another flow switches to *save.
extern "C" void emu_switch(Context* save, Context to);

// A context that starts `entry` on a stack; `entry` must never return.
Context prepare(char* stack, void (*entry)());

#if defined(__x86_64__) && !defined(__APPLE__) && !defined(EMU_PORTABLE_FIBERS)
#define EMU_ASSEMBLY_SWITCH 1
#endif

// Many flows can take turns on one stack, from which the part of each is copied when it is suspended. That is quicker
// than to switch stacks when there are more of these than a cache holds: a part is small, and parts lie side by side.
struct Kept {
    char* place;  // at least kAligned bytes longer than the room
    size_t bytes, room;

    static constexpr size_t kRoom = 576, kAligned = 64;
};

#if EMU_ASSEMBLY_SWITCH
constexpr bool kSharesStacks = true;
// The running flow is kept and `to` is continued; both are on the stack that ends at `top`, with 64 bytes behind it.
extern "C" void emu_exchange(Kept* from, const Kept* to, char* top);
// The same from another stack, and to another one.
extern "C" void emu_enter(Context* save, const Kept* to, char* top);
extern "C" void emu_leave(Kept* from, Context to, char* top);
#else
constexpr bool kSharesStacks = false;
inline void emu_exchange(Kept*, const Kept*, char*) {}
inline void emu_enter(Context*, const Kept*, char*) {}
inline void emu_leave(Kept*, Context, char*) {}
#endif

// The end of a stack that is shared.
char* shared_top(char* stack);
// A part of it that starts `entry`, which must never return.
void prepare(Kept& kept, void (*entry)());

// Stacks for fibers, each with a page below it that may not be touched, unless there are very many. Reused, last in, first out.
class StackPool {
  public:
    static constexpr size_t kBytes = 128 << 10;
    // Each guard is a mapping of its own, of which Linux gives a process some 65,000: later stacks have none.
    static constexpr size_t kGuarded = 28'000;

    StackPool() = default;
    StackPool(const StackPool&) = delete;
    ~StackPool();

    // Null if the system has no room for another one.
    char* take();
    void give(char* stack) { free_.push_back(stack); }
    // Returns memory to the system when a large grid has left more stacks behind than these.
    void trim(size_t kept);
    size_t free() const { return free_.size(); }
    size_t allocated() const { return allocated_; }

    static bool is_on(const char* stack, const void* address) {
        return static_cast<size_t>(static_cast<const char*>(address) - stack) < kBytes;
    }
    // Whether an address lies in the page below a stack.
    static bool in_guard(const char* stack, const void* address);

  private:
    void release_down_to(size_t count);
    std::vector<char*> free_;
    size_t allocated_ = 0;
};

}  // namespace emu
