// Prefetches memory that is needed soon.
#pragma once

namespace emu {

// Fetches a line into the cache. g++ would drop calls of a function that only prefetches. The empty assembly
// counts as an effect, so it keeps the calls.
inline void prefetch(const void* place) {
    __builtin_prefetch(place);
    asm volatile("");
}

}  // namespace emu
