#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // ucontext on macOS
#endif
#if !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE  // MAP_ANONYMOUS there
#endif
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__x86_64__) && !defined(__APPLE__) && !defined(EMU_PORTABLE_FIBERS)
#define EMU_ASSEMBLY_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace emu {

namespace {

size_t page_bytes() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// Stacks lie at equal distances, so equal offsets would compete for the same few cache sets: shift each one.
char* top_of(char* stack) {
    constexpr size_t kCacheLine = 64, kColours = 31;
    static thread_local size_t colour = 0;
    colour = (colour + 1) % kColours;
    return stack + StackPool::kBytes - kCacheLine * (1 + colour);
}

}  // namespace

#if EMU_ASSEMBLY_SWITCH

// System V x86-64: six callee-saved registers and the stack pointer are all there is to save. A context is
// the stack pointer below them.
__asm__(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,@function
emu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emu_switch,.-emu_switch
)");

Context prepare(char* stack, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    auto* top = reinterpret_cast<void**>(top_of(stack));
    *--top = nullptr;  // return address of entry, which also leaves the stack aligned as after a call
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--top = nullptr;
    return top;
}

#else

// Elsewhere: ucontext, which also saves the signal mask by a system call and is about fifty times slower.
extern "C" void emu_switch(Context* save, Context to) {
    ucontext_t here;
    *save = &here;
    swapcontext(&here, static_cast<ucontext_t*>(to));
}

Context prepare(char* stack, void (*entry)()) {
    char* top = top_of(stack) - sizeof(ucontext_t);
    auto* context =
        new (reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{63})) ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = static_cast<size_t>(reinterpret_cast<char*>(context) - stack);
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}

#endif

char* StackPool::take() {
    if (!free_.empty()) {
        char* stack = free_.back();
        free_.pop_back();
        return stack;
    }
    void* memory =
        mmap(nullptr, page_bytes() + kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (allocated_ < kGuarded) mprotect(memory, page_bytes(), PROT_NONE);
    ++allocated_;
    return static_cast<char*>(memory) + page_bytes();
}

bool StackPool::in_guard(const char* stack, const void* address) {
    auto* byte = static_cast<const char*>(address);
    return byte < stack && byte >= stack - page_bytes();
}

void StackPool::release_down_to(size_t count) {
    while (free_.size() > count) {
        munmap(free_.back() - page_bytes(), page_bytes() + kBytes);
        free_.pop_back();
        --allocated_;
    }
}

void StackPool::trim(size_t kept) { release_down_to(kept); }

StackPool::~StackPool() { release_down_to(0); }

}  // namespace emu
