// Declares CUDA's runtime API for .cpp files, which `bfsbench nvcc` or another C++ compiler compiles. For .cu
// files host.h declares nothing, because cuda_on_cpu.h has already declared all of CUDA.
#pragma once
#ifndef __CUDACC__
#if __cplusplus < 201703L
#error "bfsbench's headers of CUDA need C++17: with CMake, set CMAKE_CXX_STANDARD to 17"
#endif
#ifndef EMU_PROGRAM
#define EMU_PROGRAM
#endif
#include "emu/qualifiers.h"
#include "emu/runtime_api.h"
#endif
