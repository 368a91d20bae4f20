// The emulator runs CUDA C++ on a CPU. A translator turns a .cu file into C++17, and the compiler reads this
// file, cuda_on_cpu.h, before the translated text. cuda_on_cpu.h defines every CUDA name that kernels use.
// The emulator's runtime library switches between the CUDA threads on one thread of the operating system.
// Each CUDA thread normally has a stack of its own.
//
// The emulator has limits. A CPU orders memory far more strictly than a GPU, so a missing fence does not
// change results. The emulator does not limit the registers of a thread. Times measured under the emulator
// say nothing about a GPU.
#pragma once

#include <cfloat>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

// This #undef leaves out C++17's special mathematical functions, such as std::cyl_bessel_j, because kernels
// cannot call them in CUDA. CUDA's own Bessel functions, such as j0, are not affected. Parsing the functions of
// C++17 would take half of the compile time of a small kernel.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>

#include "emu/qualifiers.h"
#include "emu/types.h"

#include "emu/state.h"

#include "emu/arithmetic.h"
#include "emu/atomics.h"
#include "emu/block.h"
#include "emu/kernel.h"
#include "emu/memory.h"
#include "emu/warp.h"

#include "emu/groups.h"
#include "emu/ptx.h"
#include "emu/trap.h"

#ifdef EMU_PROGRAM
#include "emu/math.h"
#include "emu/nv_atomic.h"
#include "emu/program.h"
#include "emu/block_tile.h"
#include "emu/texture.h"
#include "emu/texture_reference.h"
// The emulator's headers define CUDA's index variables, such as threadIdx, as macros. A program with host
// code may use these names for its own variables. So the macros are removed here, and the translator replaces
// the index variables in kernels instead.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#endif

#include "emu/c_library.h"

// CUDA sources test the macros below. They are defined after all #include lines, because headers of the C++
// library must not see them.
#define __CUDACC__ 1
#ifdef EMU_PROGRAM
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#define __CUDACC_VER_BUILD__ 41
#endif
