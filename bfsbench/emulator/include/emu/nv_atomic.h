// Defines nvcc's built-in atomic functions, such as __nv_atomic_load_n.
#pragma once

#include "atomic_ref.h"

enum {
    __NV_ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST,
};
enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM,
};

// Reports an atomic access to the race detector. The race detector has no cluster scope, so cluster scope
// becomes device scope.
#define EMU_NOTE(address, act)                                                                            \
    emu::note_ordered(address, sizeof *(address), emu::Act::act,                                          \
                      scope <= __NV_THREAD_SCOPE_BLOCK ? emu::Scope::block : emu::Scope::device,          \
                      cuda::order_of(static_cast<cuda::memory_order>(order), emu::Act::act), EMU_SITE)

template <class T>
EMU_OWN inline T __nv_atomic_load_n(const T* address, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, read);
    return emu::load_once(address);
}
template <class T>
EMU_OWN inline void __nv_atomic_load(const T* address, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, read);
    *value = emu::load_once(address);
}
template <class T>
EMU_OWN inline void __nv_atomic_store_n(T* address, emu::Value<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, write);
    emu::store_once(address, value);
}
template <class T>
EMU_OWN inline void __nv_atomic_store(T* address, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, write);
    emu::store_once(address, *value);
}
template <class T>
EMU_OWN inline bool __nv_atomic_compare_exchange_n(T* address, T* expected, emu::Value<T> desired, bool, int order, int,
                                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, update);
    T found = emu::atomic_cas(address, *expected, desired);
    bool was = memcmp(&found, expected, sizeof found) == 0;
    *expected = found;
    return was;
}

template <class T>
EMU_OWN inline T __nv_atomic_exchange_n(T* address, emu::Value<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    EMU_NOTE(address, update);
    return emu::atomic_exchange(address, value);
}

// EMU_NV_UPDATE defines two functions: __nv_atomic_fetch_NAME returns the old value, and __nv_atomic_NAME
// returns nothing.
#define EMU_NV_UPDATE(name)                                                                               \
    template <class T>                                                                                    \
    EMU_OWN inline T __nv_atomic_fetch_##name(T* address, emu::Value<T> value, int order,                 \
                                              int scope = __NV_THREAD_SCOPE_SYSTEM) {                     \
        EMU_NOTE(address, update);                                                                        \
        return emu::atomic_##name(address, value);                                                        \
    }                                                                                                     \
    template <class T>                                                                                    \
    EMU_OWN inline void __nv_atomic_##name(T* address, emu::Value<T> value, int order,                    \
                                           int scope = __NV_THREAD_SCOPE_SYSTEM) {                        \
        EMU_NOTE(address, update);                                                                        \
        emu::atomic_##name(address, value);                                                               \
    }
EMU_NV_UPDATE(add)
EMU_NV_UPDATE(sub)
EMU_NV_UPDATE(and)
EMU_NV_UPDATE(or)
EMU_NV_UPDATE(xor)
EMU_NV_UPDATE(min)
EMU_NV_UPDATE(max)
#undef EMU_NV_UPDATE
#undef EMU_NOTE
