// Functions with which the emulator counts memory accesses, detects races, or interrupts threads. The
// compiler inserts calls to them before the memory accesses (-fsanitize=thread) and at the start of the basic
// blocks (-fsanitize-coverage=trace-pc) of a kernel.

#include "machine.h"
#include "worker.h"

using emu::Act;
using emu::Scope;

#define CALLBACK extern "C" EMU_API
#define HERE __builtin_return_address(0)

namespace {

// Marks functions for rare cases. They are not inlined, because the stack space that they need would slow
// down the common case.
#define APART __attribute__((noinline))

template <size_t kBytes, Act kAct, Scope kScope>
APART void touch_watched(const char* address, const void* site) {
    emu::watching->access(address, kBytes, kAct, kScope, emu::Order::relaxed, site);
}

template <size_t kBytes, Act kAct, Scope kScope>
APART void touch_uncounted(const char* address, const void* site) {
    constexpr bool kReadsWords = kAct == Act::read && kScope == Scope::none && kBytes % emu::Shadow::kWordBytes == 0;
    if (!emu::watching) return emu::check_host_access(address, kBytes, kAct, kScope, site);
    if ((kReadsWords && emu::watching->read_quickly(address, kBytes, site))) return;
    touch_watched<kBytes, kAct, kScope>(address, site);
}

template <size_t kBytes, bool kAligned>
APART void load_counted(const char* address, const void* site) {
    if (kAligned && emu::trace.begin_with_load<kBytes>(address, site)) return;
    emu::worker->machine.counting->load(emu::here(), address, kBytes, site);
}

template <size_t kBytes, Act kAct>
APART void touch_counted(const char* address, const void* site) {
    emu::Counting& counting = *emu::worker->machine.counting;
    if (kAct == Act::write) return counting.store(emu::here(), address, site, kBytes);
    counting.step(emu::here(), address, site, kBytes, static_cast<emu::Kind>(kAct));
}

template <size_t kBytes, Act kAct, Scope kScope, bool kAligned>
inline void touch(const void* there, const void* site) {
    auto* address = static_cast<const char*>(there);
    constexpr bool kIsLoad = kAct == Act::read && kScope == Scope::none;
    if (kIsLoad && kAligned && emu::trace.load_quickly<kBytes>(address, site)) return;
    if (!emu::trace.runs()) return touch_uncounted<kBytes, kAct, kScope>(address, site);
    if (emu::trace.is_own(address)) return;
    return kIsLoad ? load_counted<kBytes, kAligned>(address, site) : touch_counted<kBytes, kAct>(address, site);
}

APART void jump_counted(const void* place) {
    if (emu::trace.begin_with_jump(place)) return;
    if (emu::trace.come_to(place)) emu::await_room(emu::here());
}

APART void come_to_block(const void* site) {
    // With race detection, a launch that runs too long is reported as endless.
    if (emu::watching) emu::watching->look_for_end(site);
    if (emu::current) emu::yield_point();
}

}  // namespace

// The compiler inserts a call to this function at the beginning of every basic block of a kernel.
CALLBACK void __sanitizer_cov_trace_pc() {
    if (emu::trace.come_on(HERE)) return;
    if (emu::trace.runs()) {
        if (!emu::trace.jump_quickly(HERE)) jump_counted(HERE);
    } else if (emu::steps_left > 0) {
        --emu::steps_left;
    } else {
        come_to_block(HERE);
    }
}

CALLBACK void __tsan_init() {}
CALLBACK void __tsan_func_entry(void*) {}
CALLBACK void __tsan_func_exit() {}

// Constructors and destructors store the address of a class's table of virtual functions. A call of a virtual
// function loads this address. For these stores and loads the compiler inserts calls to the two functions
// below.
CALLBACK void __tsan_vptr_update(void** place, void*) { touch<sizeof(void*), Act::write, Scope::none, true>(place, HERE); }
CALLBACK void __tsan_vptr_read(void** place) { touch<sizeof(void*), Act::read, Scope::none, true>(place, HERE); }

CALLBACK void __tsan_read_range(void* address, size_t bytes) {
    emu::watch(address, bytes, Act::read, Scope::none, HERE);
}
CALLBACK void __tsan_write_range(void* address, size_t bytes) {
    emu::watch(address, bytes, Act::write, Scope::none, HERE);
}

#define ACCESS(name, bytes, act, scope, aligned) \
    CALLBACK void __tsan_##name##bytes(void* address) { touch<bytes, Act::act, Scope::scope, aligned>(address, HERE); }
#define ACCESSES(bytes)                                            \
    ACCESS(read, bytes, read, none, true)                          \
    ACCESS(write, bytes, write, none, true)                        \
    ACCESS(unaligned_read, bytes, read, none, false)               \
    ACCESS(unaligned_write, bytes, write, none, false)             \
    ACCESS(volatile_read, bytes, read, by_volatile, true)          \
    ACCESS(volatile_write, bytes, write, by_volatile, true)        \
    ACCESS(unaligned_volatile_read, bytes, read, by_volatile, false) \
    ACCESS(unaligned_volatile_write, bytes, write, by_volatile, false) \
    ACCESS(read_write, bytes, update, none, true)                  \
    ACCESS(unaligned_read_write, bytes, update, none, false)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

// The compiler may insert calls to __tsan_memcpy and __tsan_memset for code in headers of the C++ library.
CALLBACK void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    emu::watch(from, bytes, Act::read, Scope::none, HERE);
    emu::watch(to, bytes, Act::write, Scope::none, HERE);
    return memcpy(to, from, bytes);
}
CALLBACK void* __tsan_memset(void* to, int value, size_t bytes) {
    emu::watch(to, bytes, Act::write, Scope::none, HERE);
    return memset(to, value, bytes);
}
