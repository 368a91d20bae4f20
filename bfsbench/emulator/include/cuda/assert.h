// Kernels keep the emulator's assert, whose message names the kernel and the thread. Other code gets the
// assert of the C library.
#ifdef __CUDACC__
#pragma once
#else
#include_next <assert.h>
#endif
