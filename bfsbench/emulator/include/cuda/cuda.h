// Kernels get all of CUDA from cuda_on_cpu.h. The C++ files of a program include this header.
#pragma once
#if defined(EMU_PROGRAM) && !defined(__CUDACC__)
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
