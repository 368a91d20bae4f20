// The functions that implement inline PTX. The translator turns each PTX instruction into a call. A PTX
// register becomes a C++ variable of any type that has enough bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace emu::ptx {

template <class T, int kLength>
struct Vector {
    T at[kLength];
};

// Returns the bits of a PTX register as a value of type T.
template <class T, class U>
__attribute__((always_inline)) inline T as(const U& bits) {
    T value{};
    memcpy(&value, &bits, sizeof(T) < sizeof(U) ? sizeof(T) : sizeof(U));
    return value;
}
template <class T, class U>
__attribute__((always_inline)) inline void put(U& place, T value) {
    place = as<U>(value);
}

template <class T>
inline T* at(uint64_t address, int64_t offset) {
    return reinterpret_cast<T*>(address + offset);
}
template <class T>
inline T* at(void* address, int64_t offset) {
    return reinterpret_cast<T*>(static_cast<char*>(address) + offset);
}

// Loads a value from `address`. With Scope::none the load is a weak load of PTX, which corresponds to an
// ordinary C++ load.
template <class T>
EMU_OWN inline T ld(const T* address, Scope scope, Order order) {
    note_ordered(address, sizeof(T), Act::read, scope, order, EMU_SITE);
    T value = load_once(address);
    if (order == Order::acquire) __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return value;
}

// Loads a value through the GPU's read-only cache. During the launch no thread may write the value.
template <class T>
EMU_OWN inline T ld_nc(const T* address, Scope scope, Order order) {
    note_read_only(address, sizeof(T), EMU_SITE);
    note_ordered(address, sizeof(T), Act::read, scope, order, EMU_SITE);
    return load_once(address);
}

template <class T>
EMU_OWN inline void st(T* address, T value, Scope scope, Order order) {
    note_ordered(address, sizeof(T), Act::write, scope, order, EMU_SITE);
    if (order == Order::release) __atomic_thread_fence(__ATOMIC_RELEASE);
    store_once(address, value);
}

// Function objects that call the functions of atomics.h with the same names.
#define EMU_FUNCTION(name)                                                                 \
    constexpr struct {                                                                     \
        template <class... Values>                                                         \
        EMU_INNER auto operator()(Values... values) const { return emu::name(values...); } \
    } name{};
EMU_FUNCTION(atomic_add)
EMU_FUNCTION(atomic_min)
EMU_FUNCTION(atomic_max)
EMU_FUNCTION(atomic_and)
EMU_FUNCTION(atomic_or)
EMU_FUNCTION(atomic_xor)
EMU_FUNCTION(atomic_inc)
EMU_FUNCTION(atomic_dec)
EMU_FUNCTION(atomic_cas)
EMU_FUNCTION(atomic_exchange)
#undef EMU_FUNCTION

// Updates the word at `address` atomically and returns its old value. `update` is one of the function objects
// above.
template <class Update, class T, class... Values>
EMU_OWN inline T atom(Scope scope, Order order, Update update, T* address, Values... values) {
    note_ordered(address, sizeof(T), Act::update, scope, order, EMU_SITE);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    T old = update(address, values...);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return old;
}

}  // namespace emu::ptx

// Convert addresses of shared memory between C++ pointers and the 32-bit addresses that inline PTX uses.
inline size_t __cvta_generic_to_shared(const void* address) { return emu::shared_address(address); }
inline void* __cvta_shared_to_generic(size_t address) { return emu::shared_at(static_cast<uint32_t>(address)); }
