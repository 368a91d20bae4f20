// Functions that implement std::atomic in programs with host code. With the compiler option
// -fsanitize=thread, each operation on a std::atomic becomes a call to one of these functions. This includes
// the atomics inside the C++ library.

#include "emu/state.h"

namespace {

using emu::Act;

template <class T>
void note(const volatile void* address, Act act, const void* site) {
    emu::watch(const_cast<const void*>(address), sizeof(T), act, emu::Scope::device, site, emu::Order::acq_rel);
}

}  // namespace

#define SITE __builtin_return_address(0)
#define UPDATE(bits, T, name)                                                                                  \
    EMU_API T __tsan_atomic##bits##_##name(volatile T* at, T value, int) {                                     \
        note<T>(at, Act::update, SITE);                                                                        \
        return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                                                   \
    }
#define COMPARE(bits, T, name, weak)                                                                           \
    EMU_API int __tsan_atomic##bits##_compare_exchange_##name(volatile T* at, T* expected, T value, int, int) { \
        note<T>(at, Act::update, SITE);                                                                        \
        return __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
    }
#define ATOMICS(bits, T)                                                                                       \
    EMU_API T __tsan_atomic##bits##_load(const volatile T* at, int) {                                          \
        note<T>(at, Act::read, SITE);                                                                          \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                          \
    }                                                                                                          \
    EMU_API void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                                   \
        note<T>(at, Act::write, SITE);                                                                         \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                          \
    EMU_API T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                                   \
        note<T>(at, Act::update, SITE);                                                                        \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                               \
    }                                                                                                          \
    EMU_API T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int, int) {      \
        note<T>(at, Act::update, SITE);                                                                        \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
        return expected;                                                                                       \
    }                                                                                                          \
    UPDATE(bits, T, fetch_add)                                                                                 \
    UPDATE(bits, T, fetch_sub)                                                                                 \
    UPDATE(bits, T, fetch_and)                                                                                 \
    UPDATE(bits, T, fetch_or)                                                                                  \
    UPDATE(bits, T, fetch_xor)                                                                                 \
    UPDATE(bits, T, fetch_nand)                                                                                \
    COMPARE(bits, T, strong, false)                                                                            \
    COMPARE(bits, T, weak, true)

extern "C" {
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
EMU_API void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EMU_API void __tsan_atomic_signal_fence(int) {}
}
