// Prefetches memory that the emulator needs soon.
#pragma once

namespace emu {

// Fetches a cache line. g++ would drop calls of a function that only prefetches. The empty assembly statement
// counts as an effect, so it keeps the calls.
inline void prefetch(const void* place) {
    __builtin_prefetch(place);
    asm volatile("");
}

}  // namespace emu
