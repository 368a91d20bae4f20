// The emulator runs CUDA C++ on a CPU. The compiler reads this header before the translated text of a .cu
// file. This header defines, in C++17, every CUDA name that kernels use. Each CUDA thread has a stack of its
// own. The emulator's runtime library switches between the stacks of CUDA threads.
//
// The emulator has limits. A CPU orders memory far more strictly than a GPU, so a missing fence does not
// change results. The emulator has no limit of registers per thread. Times measured under the emulator say
// nothing about a GPU.
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

// This #undef leaves out C++17's special mathematical functions, which CUDA does not have. Reading these
// functions would take half of the compile time of a small kernel.
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
#include "emu/program.h"
// A program may have variables with the names of CUDA's index variables. In programs the translator, not the
// preprocessor, replaces CUDA's index variables.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#endif

#include "emu/c_library.h"

// CUDA sources test the following macros. The headers of the C++ library must not see these macros, so the
// definitions come last.
#define __CUDACC__ 1
#ifdef EMU_PROGRAM
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#endif
