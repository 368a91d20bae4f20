// CUDA's functions that stop a kernel with an error: __trap and assert.
#pragma once

inline void __trap() { emu::fail("__trap was called"); }

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : ::emu::fail("assertion '%s' failed, %s:%d", #condition, __FILE__, __LINE__))
#endif
