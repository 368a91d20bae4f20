// Replaces CUDA's own cuda.h. For .cpp files that the emulator compiles, this file declares the runtime API.
// For .cu files it declares nothing, because cuda_on_cpu.h has already declared all of CUDA.
#pragma once
#if defined(EMU_PROGRAM) && !defined(__CUDACC__)
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
// The emulator defines no other name of CUDA's driver API. It defines CUDA_SUCCESS, because some programs
// compare results of the runtime API with this number.
enum { CUDA_SUCCESS = 0 };
