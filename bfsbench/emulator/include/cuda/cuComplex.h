// Replaces CUDA's own cuComplex.h: complex numbers in single and double precision.
#pragma once
#include <math.h>

#include "cuda_runtime.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;
inline cuComplex make_cuComplex(float x, float y) { return {x, y}; }

#define EMU_COMPLEX(C, T, make, f)                                                                        \
    inline C make(T x, T y) { return {x, y}; }                                                                  \
    inline T cuCreal##f(C a) { return a.x; }                                                                    \
    inline T cuCimag##f(C a) { return a.y; }                                                                    \
    inline C cuConj##f(C a) { return {a.x, -a.y}; }                                                             \
    inline C cuCadd##f(C a, C b) { return {a.x + b.x, a.y + b.y}; }                                             \
    inline C cuCsub##f(C a, C b) { return {a.x - b.x, a.y - b.y}; }                                             \
    inline C cuCmul##f(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }                     \
    /* Scaling by the size of the divisor avoids an overflow of its square. */                                  \
    inline C cuCdiv##f(C a, C b) {                                                                              \
        T scale = 1 / (fabs##f(b.x) + fabs##f(b.y));                                                            \
        T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;                               \
        T norm = 1 / (bx * bx + by * by);                                                                       \
        return {(ax * bx + ay * by) * norm, (ay * bx - ax * by) * norm};                                        \
    }                                                                                                           \
    inline T cuCabs##f(C a) { return hypot##f(a.x, a.y); }                                                      \
    inline C cuCfma##f(C a, C b, C c) { return cuCadd##f(cuCmul##f(a, b), c); }
EMU_COMPLEX(cuFloatComplex, float, make_cuFloatComplex, f)
EMU_COMPLEX(cuDoubleComplex, double, make_cuDoubleComplex, )
#undef EMU_COMPLEX

inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
