#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // macOS declares ucontext only with this macro
#endif
#if !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE  // macOS declares MAP_ANONYMOUS only with this macro
#endif
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if !EMU_ASSEMBLY_SWITCH
#include <ucontext.h>
#endif

namespace emu {

namespace {

size_t page_bytes() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// Returns the address at which a CUDA thread's stack starts. Stacks lie at equal distances in memory. With
// equal start offsets they would compete for a few cache sets, so this function cycles through 31 start
// offsets.
char* top_of(char* stack) {
    constexpr size_t kCacheLine = 64, kColours = 31;
    static thread_local size_t colour = 0;
    colour = (colour + 1) % kColours;
    return stack + StackPool::kBytes - kCacheLine * (1 + colour);
}

}  // namespace

#if EMU_ASSEMBLY_SWITCH

// Assembly code that switches between CUDA threads on x86-64 (System V). A switch saves six callee-saved
// registers and the stack pointer. A Context is the stack pointer below the saved registers.
//
// Some switches copy the used part of the stack to a buffer, which a Kept object describes. In Kept, `place`
// has offset 0 and `bytes` has offset 8. A copy begins with the registers and the return address. The code
// stores registers directly in the buffer. If it pushed them first, the copy would stall when it loads 16 bytes
// that two 8-byte stores have just written. The code copies the rest 64 bytes at a time. So it may read and write
// up to 64 bytes above the end of the stack and after the end of the copy. While the code overwrites the stack,
// it keeps nothing on the stack.
__asm__(R"(
.macro emu_push_all
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
.endm
.macro emu_pop_all
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.endm
.macro emu_copy from, to, bytes
1:
    movups (\from), %xmm0
    movups 16(\from), %xmm1
    movups 32(\from), %xmm2
    movups 48(\from), %xmm3
    movups %xmm0, (\to)
    movups %xmm1, 16(\to)
    movups %xmm2, 32(\to)
    movups %xmm3, 48(\to)
    addq $64, \from
    addq $64, \to
    subq $64, \bytes
    ja 1b
.endm
.macro emu_keep
    movq (%rdi), %r8
    movq (%rsp), %rax
    movq %r15, (%r8)
    movq %r14, 8(%r8)
    movq %r13, 16(%r8)
    movq %r12, 24(%r8)
    movq %rbx, 32(%r8)
    movq %rbp, 40(%r8)
    movq %rax, 48(%r8)
    leaq 8(%rsp), %r9
    movq %rdx, %rcx
    subq %r9, %rcx
    leaq 56(%rcx), %rax
    movq %rax, 8(%rdi)
    addq $56, %r8
    emu_copy %r9, %r8, %rcx
.endm
.macro emu_take_up
    movq (%rsi), %r8
    movq 8(%rsi), %rcx
    movq (%r8), %r15
    movq 8(%r8), %r14
    movq 16(%r8), %r13
    movq 24(%r8), %r12
    movq 32(%r8), %rbx
    movq 40(%r8), %rbp
    movq 48(%r8), %rax
    addq $56, %r8
    subq $56, %rcx
    subq %rcx, %rdx
    movq %rdx, %rsp
    emu_copy %r8, %rdx, %rcx
    pushq %rax
    ret
.endm
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,@function
emu_switch:
    emu_push_all
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    emu_pop_all
.size emu_switch,.-emu_switch
.globl emu_exchange
.hidden emu_exchange
.type emu_exchange,@function
emu_exchange:
    emu_keep
    emu_take_up
.size emu_exchange,.-emu_exchange
.globl emu_enter
.hidden emu_enter
.type emu_enter,@function
emu_enter:
    emu_push_all
    movq %rsp, (%rdi)
    emu_take_up
.size emu_enter,.-emu_enter
.globl emu_leave
.hidden emu_leave
.type emu_leave,@function
emu_leave:
    emu_keep
    movq %rsi, %rsp
    emu_pop_all
.size emu_leave,.-emu_leave
)");

namespace {

// Writes, downwards from `top`, the words that a switch to a new CUDA thread pops from its stack.
void** lay_out(void** top, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    *--top = nullptr;  // return address of `entry`; this word also aligns the stack as a call would
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--top = nullptr;
    return top;
}

}  // namespace

Context prepare(char* stack, void (*entry)()) { return lay_out(reinterpret_cast<void**>(top_of(stack)), entry); }

void prepare(Kept& kept, void (*entry)()) {
    constexpr size_t kBytes = 8 * sizeof(void*);
    lay_out(reinterpret_cast<void**>(kept.place + kBytes), entry);
    kept.bytes = kBytes;
}

#else

// The portable switch between CUDA threads uses ucontext. It also saves the signal mask by a system call, and
// takes about fifty times as long as the assembly code.
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

char* shared_top(char* stack) { return stack + StackPool::kBytes - Kept::kAligned; }

#if !EMU_ASSEMBLY_SWITCH
void prepare(Kept&, void (*)()) {}
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
