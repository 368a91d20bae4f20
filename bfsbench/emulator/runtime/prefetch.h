// Prefetches memory that the emulator needs soon.
#pragma once

namespace emu {

// Fetches a cache line. The empty assembly statement counts as a side effect. Without it, g++ would remove
// calls of this function, which only prefetches.
inline void prefetch(const void* place) {
    __builtin_prefetch(place);
    asm volatile("");
}

}  // namespace emu
