// Included before headers of thrust in a watched program. Thrust then gets its device memory here, because
// kernels use it.
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
