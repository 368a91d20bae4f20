#pragma once
#include "cuda_runtime.h"
#include "emu/half.h"
#define EMU_NAME __half
#define EMU_NAME2 __half2
#define EMU_FORMAT emu::HalfFormat
#include "emu/half_class.inc"
using half = __half;
using half2 = __half2;
using __half_raw = __half;
using nv_half = __half;
using nv_half2 = __half2;
EMU_SMALL(__half, half2, __half, half, half2)
inline __half2 make___half2(__half x, __half y) { return {x, y}; }
