// A program that is compiled with race detection or counting includes this header before headers of the
// Thrust library. Thrust's malloc then returns managed memory, so that kernels can use it.
#if defined(EMU_WATCH) && defined(EMU_PROGRAM)
#pragma push_macro("malloc")
#undef malloc
#define malloc emu_thrust_malloc
#pragma push_macro("memcpy")
#undef memcpy
#pragma push_macro("memmove")
#undef memmove
#pragma push_macro("memset")
#undef memset
#endif
