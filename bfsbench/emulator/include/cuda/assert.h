// Kernels keep the assert of emu/trap.h, which names the kernel and the thread.
#ifdef __CUDACC__
#pragma once
#else
#include_next <assert.h>
#endif
