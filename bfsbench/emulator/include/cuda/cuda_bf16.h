#pragma once
#include "cuda_runtime.h"
#include "emu/half.h"
#define EMU_NAME __nv_bfloat16
#define EMU_NAME2 __nv_bfloat162
#define EMU_FORMAT emu::BfloatFormat
#include "emu/half_class.inc"
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
EMU_SMALL(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16, bfloat16, bfloat162)
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
