// Replaces the C library's assert.h. In .cu files, assert remains the emulator's macro, whose message names
// the kernel and the thread. In all other files, assert is the C library's macro.
#ifdef __CUDACC__
#pragma once
#else
#include_next <assert.h>
#endif
