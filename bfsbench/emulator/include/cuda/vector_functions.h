// Replaces CUDA's own vector_functions.h. For .cpp files that the emulator compiles, this file declares the
// runtime API. For .cu files it declares nothing, because cuda_on_cpu.h has already declared all of CUDA.
#pragma once
#include "emu/host.h"
