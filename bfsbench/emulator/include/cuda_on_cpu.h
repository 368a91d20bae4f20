// CUDA C++ on a CPU. This header comes before the translated text of a .cu file. It defines every CUDA name
// that kernels use, in C++17. Each CUDA thread is a fiber, and the runtime library switches between fibers.
//
// Limits: a CPU orders memory far more strictly than a GPU, so a missing fence does not change results. There
// is no limit of registers. Times measured here say nothing about a GPU.
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

// Leaves out the special functions of C++17, which CUDA does not have. Reading them would take half of the
// compile time of a small kernel.
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
// Programs may have variables with these names. The translator replaces CUDA's variables itself.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#endif

#include "emu/c_library.h"

// Sources test these macros. They must not be defined before the headers of the C++ library.
#define __CUDACC__ 1
#ifdef EMU_PROGRAM
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 9
#endif
