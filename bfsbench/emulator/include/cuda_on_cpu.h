// CUDA C++ for a CPU: included before the translated text of a .cu file, it gives every CUDA name that the
// kernels use a meaning in C++17. Each CUDA thread is a fiber; the runtime library switches between them.
//
// Limits: a CPU orders memory far more strictly than a GPU, so a missing fence does not change results; there
// is no lockstep, no register limit; and no time taken here says anything of a
// GPU.
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

// Without the special functions of C++17, which CUDA does not have: reading those of libstdc++ takes half of
// the time of compiling a small kernel.
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

#include "emu/c_library.h"

// What sources ask for; not before the headers of the C++ library.
#define __CUDACC__ 1
