// Replaces CUDA's own texture_indirect_functions.h. It declares the runtime API for .cpp files that the emulator compiles.
// In .cu files it declares nothing, because cuda_on_cpu.h already declares all of CUDA.
#pragma once
#if defined(EMU_PROGRAM) && !defined(__CUDACC__)
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
