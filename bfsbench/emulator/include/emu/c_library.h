// Functions of the C library that kernels call, which the compiler does not watch. Included last: the emulator's own
// functions call those of the library.
#pragma once

#ifdef EMU_WATCH

EMU_OWN inline void* emu_memmove(void* to, const void* from, size_t bytes) {
    if (bytes) emu::watch(from, bytes, emu::Act::read, emu::Scope::none, EMU_SITE);
    if (bytes) emu::watch(to, bytes, emu::Act::write, emu::Scope::none, EMU_SITE);
    return memmove(to, from, bytes);
}

EMU_OWN inline void* emu_memset(void* to, int value, size_t bytes) {
    if (bytes) emu::watch(to, bytes, emu::Act::write, emu::Scope::none, EMU_SITE);
    return memset(to, value, bytes);
}

#define EMU_REFUSED __attribute__((error("memory that kernels allocate is neither watched nor counted")))
EMU_REFUSED void* emu_malloc(size_t bytes);
EMU_REFUSED void* operator new(size_t bytes);
EMU_REFUSED void* operator new[](size_t bytes);

namespace std {
using ::emu_malloc;
using ::emu_memmove;
using ::emu_memset;
}  // namespace std

#define malloc emu_malloc
#define memcpy emu_memmove
#define memmove emu_memmove
#define memset emu_memset

#endif
