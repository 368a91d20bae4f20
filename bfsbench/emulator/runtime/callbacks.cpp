// The functions that the compiler calls for -fsanitize=thread and -fsanitize-coverage=trace-pc.

#include "machine.h"
#include "worker.h"

using emu::Act;
using emu::Scope;

#define CALLBACK extern "C" EMU_API
#define HERE __builtin_return_address(0)

namespace {

// Inline, as every access passes it.
inline __attribute__((always_inline)) void touch(const char* address, size_t bytes, Act act, Scope scope, const void* site) {
    if (!emu::watching) return emu::watch(address, bytes, act, scope, site);
    emu::watching->access(address, bytes, act, scope, emu::Order::relaxed, site);
}

}  // namespace

// At every basic block.
CALLBACK void __sanitizer_cov_trace_pc() {
    if (emu::watching) return emu::watching->step();  // accesses are where a watched thread may be interrupted
    if (!emu::current) return;
    if (emu::Lockstep* lockstep = emu::block_of(*emu::current).lockstep.get()) {
        return lockstep->move(emu::current->rank, HERE);
    }
    emu::yield_point();
}

CALLBACK void __tsan_init() {}
CALLBACK void __tsan_func_entry(void*) {}
CALLBACK void __tsan_func_exit() {}
CALLBACK void __tsan_vptr_update(void**, void*) {}
CALLBACK void __tsan_vptr_read(void**) {}

CALLBACK void __tsan_read_range(void* address, size_t bytes) {
    emu::watch(address, bytes, Act::read, Scope::none, HERE);
}
CALLBACK void __tsan_write_range(void* address, size_t bytes) {
    emu::watch(address, bytes, Act::write, Scope::none, HERE);
}

#define ACCESS(name, bytes, act, scope)                                             \
    CALLBACK void __tsan_##name##bytes(void* address) {                             \
        touch(static_cast<const char*>(address), bytes, Act::act, Scope::scope, HERE); \
    }
#define ACCESSES(bytes)                                      \
    ACCESS(read, bytes, read, none)                          \
    ACCESS(write, bytes, write, none)                        \
    ACCESS(unaligned_read, bytes, read, none)                \
    ACCESS(unaligned_write, bytes, write, none)              \
    ACCESS(volatile_read, bytes, read, device)               \
    ACCESS(volatile_write, bytes, write, device)             \
    ACCESS(unaligned_volatile_read, bytes, read, device)     \
    ACCESS(unaligned_volatile_write, bytes, write, device)   \
    ACCESS(read_write, bytes, update, none)                  \
    ACCESS(unaligned_read_write, bytes, update, none)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

// Functions that the C++ library's headers may need.
CALLBACK void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    emu::watch(from, bytes, Act::read, Scope::none, HERE);
    emu::watch(to, bytes, Act::write, Scope::none, HERE);
    return memcpy(to, from, bytes);
}
CALLBACK void* __tsan_memset(void* to, int value, size_t bytes) {
    emu::watch(to, bytes, Act::write, Scope::none, HERE);
    return memset(to, value, bytes);
}
