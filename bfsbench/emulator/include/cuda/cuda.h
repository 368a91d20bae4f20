// Replaces CUDA's own cuda.h. In .cpp files that the emulator compiles, it also declares the runtime API.
#pragma once
#if defined(EMU_PROGRAM) && !defined(__CUDACC__)
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
#include "emu/driver_api.h"
