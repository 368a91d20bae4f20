// Functions into which the translator turns inline PTX. Registers are C++ variables of any type with the
// right bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace emu::ptx {

template <class T, int kLength>
struct Vector {
    T at[kLength];
};

// Returns the bits of a register as another type.
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

// Loads a value. Without a scope the load is weak, like a plain one.
template <class T>
EMU_OWN inline T ld(const T* address, Scope scope, Order order) {
    note_ordered(address, sizeof(T), Act::read, scope, order, EMU_SITE);
    T value = load_once(address);
    if (order == Order::acquire) __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return value;
}

// Loads a value that no thread may write during the launch.
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

// Updates a word atomically. `update` is one of the functions of atomics.h.
template <class Update, class T, class... Values>
EMU_OWN inline T atom(Scope scope, Order order, Update update, T* address, Values... values) {
    note_ordered(address, sizeof(T), Act::update, scope, order, EMU_SITE);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    T old = update(address, values...);
    if (order != Order::relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return old;
}

}  // namespace emu::ptx

// Converts between addresses and offsets in the window of shared memory, as in PTX.
inline size_t __cvta_generic_to_shared(const void* address) { return emu::shared_address(address); }
inline void* __cvta_shared_to_generic(size_t address) { return emu::shared_at(static_cast<uint32_t>(address)); }
