// Replacements for functions of the C library, such as memcpy. If a program is compiled with EMU_WATCH, its
// kernels call the replacements, which record their memory accesses. The C library's own functions would not
// record them. cuda_on_cpu.h includes c_library.h last, so that the emulator's headers still call the C
// library itself.
#pragma once

#ifdef EMU_WATCH

// The replacements are macros. They would change declarations of the C library, so the headers with these
// declarations are included first.
#include <stdlib.h>
#include <string.h>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

EMU_OWN inline void* emu_memmove(void* to, const void* from, size_t bytes) {
    if (bytes) emu::watch(from, bytes, emu::Act::read, emu::Scope::none, EMU_SITE);
    if (bytes) emu::watch(to, bytes, emu::Act::write, emu::Scope::none, EMU_SITE);
    return memmove(to, from, bytes);
}

EMU_OWN inline void* emu_memset(void* to, int value, size_t bytes) {
    if (bytes) emu::watch(to, bytes, emu::Act::write, emu::Scope::none, EMU_SITE);
    return memset(to, value, bytes);
}

#ifdef EMU_PROGRAM  // host and device have separate heaps in a program with host code
EMU_INNER inline void* emu_malloc(size_t bytes) { return emu::current ? emu::device_malloc(bytes) : malloc(bytes); }
EMU_INNER inline void emu_free(void* place) {
    if (!emu::device_free(place) && !emu::shared_free(place)) free(place);
}
// Implements operator delete. The memory may have been allocated by a kernel, or by the emulator's runtime
// library for itself.
EMU_INNER inline void emu_delete(void* place) {
    if (!emu::device_free(place)) free(place);
}
// The first byte and the end of the code of the program, or of its shared library. The linker defines these two
// symbols. is_called_by_kernel() uses them to tell whether a kernel has called operator new. It returns false if
// the address `site` of the call lies in the runtime library, which allocates its own memory while a kernel runs.
extern "C" __attribute__((visibility("hidden"))) char __ehdr_start, etext;
EMU_INNER inline bool is_called_by_kernel(const void* site) { return emu::current && site >= &__ehdr_start && site < &etext; }
__attribute__((weak, noinline)) EMU_INNER void* operator new(size_t bytes) {
    void* place = is_called_by_kernel(EMU_SITE) ? emu::device_malloc(bytes) : malloc(bytes ? bytes : 1);
    if (!place) throw std::bad_alloc();
    return place;
}
__attribute__((weak, noinline)) EMU_INNER void* operator new[](size_t bytes) {
    void* place = is_called_by_kernel(EMU_SITE) ? emu::device_malloc(bytes) : malloc(bytes ? bytes : 1);
    if (!place) throw std::bad_alloc();
    return place;
}
__attribute__((weak)) EMU_INNER void operator delete(void* place) noexcept { emu_delete(place); }
__attribute__((weak)) EMU_INNER void operator delete[](void* place) noexcept { emu_delete(place); }
__attribute__((weak)) EMU_INNER void operator delete(void* place, size_t) noexcept { emu_delete(place); }
__attribute__((weak)) EMU_INNER void operator delete[](void* place, size_t) noexcept { emu_delete(place); }
EMU_INNER inline void* emu_thrust_malloc(size_t bytes) {
    void* place = nullptr;
    return cudaMallocManaged(&place, bytes, cudaMemAttachGlobal) ? nullptr : place;
}
namespace std {
using ::emu_free;
using ::emu_thrust_malloc;
}
#define free emu_free
#else
#define EMU_REFUSED __attribute__((error("memory that kernels allocate is neither watched nor counted")))
EMU_REFUSED void* emu_malloc(size_t bytes);
EMU_REFUSED void* operator new(size_t bytes);
EMU_REFUSED void* operator new[](size_t bytes);
#endif

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
