#if defined(EMU_WATCH) && defined(EMU_PROGRAM)
#pragma pop_macro("malloc")
#pragma pop_macro("memcpy")
#pragma pop_macro("memset")
#endif
