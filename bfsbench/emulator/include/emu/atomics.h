// Atomic functions, for any scope: all of them are atomic for the whole machine.
#pragma once

namespace emu {

// Replaces the word at `address` by update(word), atomically, and returns what it was.
template <class T, class Update>
inline T fetch_update(T* address, Update update) {
    yield_point();
    T old, desired;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do {
        desired = update(old);
    } while (!__atomic_compare_exchange(address, &old, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// The value argument's type must not take part in deduction: atomicAdd(&unsigned_word, 1) is common.
template <class T>
using Value = std::common_type_t<T>;

}  // namespace emu

template <class T>
inline T atomicAdd(T* address, emu::Value<T> value) {
    if constexpr (std::is_integral_v<T>) {
        emu::yield_point();
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    } else {
        return emu::fetch_update(address, [=](T old) { return old + value; });
    }
}

template <class T>
inline T atomicSub(T* address, emu::Value<T> value) {
    emu::yield_point();
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

template <class T>
inline T atomicExch(T* address, emu::Value<T> value) {
    emu::yield_point();
    T old;
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
    return old;
}

template <class T>
inline T atomicCAS(T* address, emu::Value<T> expected, emu::Value<T> desired) {
    emu::yield_point();
    __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

template <class T>
inline T atomicAnd(T* address, emu::Value<T> value) {
    emu::yield_point();
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <class T>
inline T atomicOr(T* address, emu::Value<T> value) {
    emu::yield_point();
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <class T>
inline T atomicXor(T* address, emu::Value<T> value) {
    emu::yield_point();
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}

// Minimum and maximum write only when the word changes; most calls in a search do not change it.
template <class T>
inline T atomicMin(T* address, emu::Value<T> value) {
    emu::yield_point();
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (value < old &&
           !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

template <class T>
inline T atomicMax(T* address, emu::Value<T> value) {
    emu::yield_point();
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (old < value &&
           !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

inline unsigned atomicInc(unsigned* address, unsigned limit) {
    return emu::fetch_update(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

inline unsigned atomicDec(unsigned* address, unsigned limit) {
    return emu::fetch_update(address,
                             [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

#define EMU_SCOPED(name)                                   \
    template <class T, class... Values>                    \
    inline T name##_block(T* address, Values... values) {  \
        return name(address, values...);                   \
    }                                                      \
    template <class T, class... Values>                    \
    inline T name##_system(T* address, Values... values) { \
        return name(address, values...);                   \
    }
EMU_SCOPED(atomicAdd)
EMU_SCOPED(atomicSub)
EMU_SCOPED(atomicExch)
EMU_SCOPED(atomicCAS)
EMU_SCOPED(atomicAnd)
EMU_SCOPED(atomicOr)
EMU_SCOPED(atomicXor)
EMU_SCOPED(atomicMin)
EMU_SCOPED(atomicMax)
EMU_SCOPED(atomicInc)
EMU_SCOPED(atomicDec)
#undef EMU_SCOPED
