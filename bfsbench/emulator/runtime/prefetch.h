// Memory that will be needed soon.
#pragma once

namespace emu {

// The cache is to get a line of it. g++ takes a function that does nothing else for one without effect, and leaves out
// calls of it: the empty assembly is an effect.
inline void prefetch(const void* place) {
    __builtin_prefetch(place);
    asm volatile("");
}

}  // namespace emu
