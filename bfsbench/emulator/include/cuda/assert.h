// Replaces the C library's assert.h. In kernels, assert stays the macro of the emulator, whose message names
// the kernel and the thread. Other code gets the assert of the C library.
#ifdef __CUDACC__
#pragma once
#else
#include_next <assert.h>
#endif
