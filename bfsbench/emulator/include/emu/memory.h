// Fences, clocks, and loads and stores with a caching policy. Loads that bypass the first-level cache are
// what spinning code uses, so they are yield points.
#pragma once

#include <ctime>

namespace emu {

// A load or store that the compiler neither repeats nor leaves out.
template <class T>
inline T load_once(const T* address) {
    T value;
    __asm__ volatile("" ::: "memory");
    memcpy(&value, address, sizeof value);
    return value;
}

template <class T>
inline void store_once(T* address, T value) {
    memcpy(address, &value, sizeof value);
    __asm__ volatile("" ::: "memory");
}

template <class T>
inline T polled_load(const T* address) {
    yield_point();
    return load_once(address);
}

inline void fence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    yield_point();
}

inline long long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace emu

template <class T>
inline T __ldg(const T* address) {
    return *address;
}
template <class T>
inline T __ldca(const T* address) {
    return *address;
}
template <class T>
inline T __ldcs(const T* address) {
    return *address;
}
template <class T>
inline T __ldlu(const T* address) {
    return *address;
}
template <class T>
inline T __ldcg(const T* address) {
    return emu::polled_load(address);
}
template <class T>
inline T __ldcv(const T* address) {
    return emu::polled_load(address);
}
template <class T>
inline void __stwb(T* address, std::common_type_t<T> value) {
    emu::store_once(address, value);
}
template <class T>
inline void __stcg(T* address, std::common_type_t<T> value) {
    emu::store_once(address, value);
}
template <class T>
inline void __stcs(T* address, std::common_type_t<T> value) {
    emu::store_once(address, value);
}
template <class T>
inline void __stwt(T* address, std::common_type_t<T> value) {
    emu::store_once(address, value);
}

inline void __threadfence() { emu::fence(); }
inline void __threadfence_block() { emu::fence(); }
inline void __threadfence_system() { emu::fence(); }
inline void __nanosleep(unsigned) { emu::yield_point(INT_MAX / 2); }

// One clock for all: a nanosecond counter stands for the cycle counter too.
inline long long clock64() { return emu::nanoseconds(); }
inline unsigned long long globaltimer() { return static_cast<unsigned long long>(emu::nanoseconds()); }
