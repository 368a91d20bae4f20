// CUDA's atomic functions. In the emulator each function is atomic for all threads, whatever scope the kernel
// asks for. Only the race detector distinguishes the scopes.
#pragma once

namespace emu {

// Atomically replaces the word at `address` by the result of update(word). Returns the old word.
template <class T, class Update>
EMU_INNER inline T fetch_update(T* address, Update update) {
    T old, desired;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do {
        desired = update(old);
    } while (!__atomic_compare_exchange(address, &old, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// The type of an operand of an atomic function. The type keeps the compiler from deducing T from the operand.
// So atomicAdd(&unsigned_word, 1) compiles, although 1 is an int.
template <class T>
using Value = std::common_type_t<T>;

template <class T, class... Known>
using IfOneOf = std::enable_if_t<(std::is_same_v<T, Known> || ...), T>;

template <class T>
EMU_INNER inline T atomic_add(T* address, Value<T> value) {
    if constexpr (std::is_integral_v<T>) {
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    } else {
        return fetch_update(address, [=](T old) { return old + value; });
    }
}

template <class T>
EMU_INNER inline T atomic_sub(T* address, Value<T> value) {
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

template <class T>
EMU_INNER inline T atomic_exchange(T* address, Value<T> value) {
    T old;
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
    return old;
}

template <class T>
EMU_INNER inline T atomic_cas(T* address, Value<T> expected, Value<T> desired) {
    __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

template <class T>
EMU_INNER inline T atomic_and(T* address, Value<T> value) {
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <class T>
EMU_INNER inline T atomic_or(T* address, Value<T> value) {
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <class T>
EMU_INNER inline T atomic_xor(T* address, Value<T> value) {
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}

// atomic_min and atomic_max write only if the word changes, because most of their calls in a graph search
// leave the word unchanged.
template <class T>
EMU_INNER inline T atomic_min(T* address, Value<T> value) {
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (value < old &&
           !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

template <class T>
EMU_INNER inline T atomic_max(T* address, Value<T> value) {
    T old = __atomic_load_n(address, __ATOMIC_RELAXED);
    while (old < value &&
           !__atomic_compare_exchange_n(address, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}

EMU_INNER inline unsigned atomic_inc(unsigned* address, unsigned limit) {
    return fetch_update(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

EMU_INNER inline unsigned atomic_dec(unsigned* address, unsigned limit) {
    return fetch_update(address,
                        [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

}  // namespace emu

// The macros below define CUDA's atomic functions for the types that CUDA allows, and for no other type. So a
// call with another type does not compile, as on a GPU.
#define EMU_ATOMIC(name, function, ...)                      \
    EMU_SCOPED(name, function, device, __VA_ARGS__)          \
    EMU_SCOPED(name##_system, function, device, __VA_ARGS__) \
    EMU_SCOPED(name##_block, function, block, __VA_ARGS__)
#define EMU_SCOPED(name, function, scope, ...)                                          \
    template <class T, class... Values>                                                 \
    EMU_OWN inline emu::IfOneOf<T, __VA_ARGS__> name(T* address, Values... values) {    \
        emu::note_atomic(address, sizeof(T), emu::Scope::scope, EMU_SITE);              \
        return emu::function(address, values...);                                       \
    }
EMU_ATOMIC(atomicAdd, atomic_add, int, unsigned, unsigned long long, float, double)
EMU_ATOMIC(atomicSub, atomic_sub, int, unsigned)
EMU_ATOMIC(atomicExch, atomic_exchange, int, unsigned, unsigned long long, float)
EMU_ATOMIC(atomicCAS, atomic_cas, int, unsigned, unsigned long long, unsigned short)
EMU_ATOMIC(atomicAnd, atomic_and, int, unsigned, unsigned long long)
EMU_ATOMIC(atomicOr, atomic_or, int, unsigned, unsigned long long)
EMU_ATOMIC(atomicXor, atomic_xor, int, unsigned, unsigned long long)
EMU_ATOMIC(atomicMin, atomic_min, int, unsigned, long long, unsigned long long)
EMU_ATOMIC(atomicMax, atomic_max, int, unsigned, long long, unsigned long long)
EMU_ATOMIC(atomicInc, atomic_inc, unsigned)
EMU_ATOMIC(atomicDec, atomic_dec, unsigned)
#undef EMU_ATOMIC
#undef EMU_SCOPED
