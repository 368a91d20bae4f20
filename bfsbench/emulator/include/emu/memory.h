// CUDA's fences, clocks, and loads and stores with a caching policy. A thread that waits for another thread
// often polls memory with loads that bypass the first-level cache. So these loads let other CUDA threads run
// now and then.
#pragma once

#include <ctime>

namespace emu {

// load_once() reads a value from memory exactly once. store_once() writes a value to memory exactly once. The
// compiler may neither repeat nor drop the access.
template <class T>
EMU_INNER inline T load_once(const T* address) {
    T value;
    __asm__ volatile("" ::: "memory");
    memcpy(&value, address, sizeof value);
    return value;
}

template <class T>
EMU_INNER inline void store_once(T* address, T value) {
    memcpy(address, &value, sizeof value);
    __asm__ volatile("" ::: "memory");
}

inline long long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace emu

#define EMU_LOAD(name)                                                \
    template <class T>                                                \
    EMU_OWN inline T name(const T* address) {                         \
        emu::note(address, sizeof(T), emu::Act::read, EMU_SITE);      \
        return *address;                                              \
    }
EMU_LOAD(__ldca)
EMU_LOAD(__ldcs)
EMU_LOAD(__ldlu)
#undef EMU_LOAD

template <class T>
EMU_OWN inline T __ldg(const T* address) {
    emu::note_read_only(address, sizeof(T), EMU_SITE);
    emu::note(address, sizeof(T), emu::Act::read, EMU_SITE);
    return *address;
}

#define EMU_POLL(name)                                                \
    template <class T>                                                \
    EMU_OWN inline T name(const T* address) {                         \
        emu::yield_point();                                           \
        emu::note(address, sizeof(T), emu::Act::read, EMU_SITE);      \
        return emu::load_once(address);                               \
    }
EMU_POLL(__ldcg)
EMU_POLL(__ldcv)
#undef EMU_POLL

#define EMU_STORE(name)                                               \
    template <class T>                                                \
    EMU_OWN inline void name(T* address, std::common_type_t<T> value) { \
        emu::note(address, sizeof(T), emu::Act::write, EMU_SITE);     \
        emu::store_once(address, value);                              \
    }
EMU_STORE(__stwb)
EMU_STORE(__stcg)
EMU_STORE(__stcs)
EMU_STORE(__stwt)
#undef EMU_STORE

inline void __threadfence() { emu::fence(emu::Scope::device); }
inline void __threadfence_block() { emu::fence(emu::Scope::block); }
inline void __threadfence_system() { emu::fence(emu::Scope::device); }
inline void __nanosleep(unsigned) { emu::yield_point(INT_MAX / 2); }

// CUDA's cycle counters return nanoseconds in the emulator.
inline long long clock64() { return emu::nanoseconds(); }
