// Replaces CUDA's own cuda.h. It declares the runtime API for .cpp files that the emulator compiles.
// In .cu files it declares nothing, because cuda_on_cpu.h already declares all of CUDA.
#pragma once
#if defined(EMU_PROGRAM) && !defined(__CUDACC__)
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
// The only name of CUDA's driver API that the emulator defines. Some programs compare results of the runtime
// API with it.
enum { CUDA_SUCCESS = 0 };
