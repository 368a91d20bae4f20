// A program that is built with race detection or counting includes thrust_begin.h before the headers of the
// Thrust library, and thrust_end.h after them. In these headers, malloc returns managed memory, which kernels
// can also use. memcpy and memset are the C library's functions. memmove remains the emulator's macro,
// because Thrust's templates copy with it.
#if defined(EMU_WATCH) && defined(EMU_PROGRAM)
#pragma push_macro("malloc")
#undef malloc
#define malloc emu_thrust_malloc
#ifndef EMU_THRUST
#define EMU_THRUST
inline const bool emu_thrust_runs_on_host = emu::forget_host_accesses();
#endif
#pragma push_macro("memcpy")
#undef memcpy
#pragma push_macro("memset")
#undef memset
#endif
