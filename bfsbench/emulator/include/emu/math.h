// CUDA's mathematical functions and conversions that the C library does not have. A few functions with directed
// rounding, such as __fma_rd, are missing. Programs that use them do not compile.
#pragma once

#include <math.h>
#include <stdlib.h>

// Counts the set bits of `mask` from bit `base` upward. Returns the position of the bit with number `offset`,
// counted from 1. If `offset` is negative, counts downward. Returns all ones if there is no such bit.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
    if (left == 0) return mask >> base & 1 ? base : ~0u;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        if ((mask >> at & 1) && --left == 0) return static_cast<unsigned>(at);
    }
    return ~0u;
}

#define EMU_PAIR(name, formula)                                   \
    inline double name(double x) { return formula; }              \
    inline float name##f(float a) { return static_cast<float>(name(static_cast<double>(a))); }
namespace emu {
// Returns the quantile of the standard normal distribution at the probability `p`, by Wichura's algorithm AS
// 241 (PPND16).
inline double normal_quantile(double p) {
    double q = p - 0.5, r;
    if (fabs(q) <= 0.425) {
        r = 0.180625 - q * q;
        return q * (((((((r * 2509.0809287301226727 + 33430.575583588128105) * r + 67265.770927008700853) * r + 45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r + 133.14166789178437745) * r + 3.387132872796366608) /
               (((((((r * 5226.495278852854561 + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r + 42.313330701600911252) * r + 1.);
    }
    if (p <= 0 || p >= 1) return p == 0 ? -HUGE_VAL : p == 1 ? HUGE_VAL : __builtin_nan("");
    r = sqrt(-log(q < 0 ? p : 1 - p));
    double value;
    if (r <= 5.) {
        r -= 1.6;
        value = (((((((r * 7.7454501427834140764e-4 + .0227238449892691845833) * r + .24178072517745061177) * r + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r + 4.6303378461565452959) * r + 1.42343711074968357734) /
                (((((((r * 1.05075007164441684324e-9 + 5.475938084995344946e-4) * r + .0151986665636164571966) * r + .14810397642748007459) * r + .68976733498510000455) * r + 1.6763848301838038494) * r + 2.05319162663775882187) * r + 1.);
    } else {
        r -= 5.;
        value = (((((((r * 2.01033439929228813265e-7 + 2.71155556874348757815e-5) * r + .0012426609473880784386) * r + .026532189526576123093) * r + .29656057182850489123) * r + 1.7848265399172913358) * r + 5.4637849111641143699) * r + 6.6579046435011037772) /
                (((((((r * 2.04426310338993978564e-15 + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r + .0148753612908506148525) * r + .13692988092273580531) * r + .59983220655588793769) * r + 1.);
    }
    return q < 0 ? -value : value;
}
}  // namespace emu
inline double rsqrt(double x) { return 1 / sqrt(x); }
EMU_PAIR(rcbrt, 1 / cbrt(x))
EMU_PAIR(sinpi, sin(M_PI * fmod(x, 2)))
EMU_PAIR(cospi, cos(M_PI * fmod(x, 2)))
EMU_PAIR(normcdf, 0.5 * erfc(-x * M_SQRT1_2))
EMU_PAIR(normcdfinv, emu::normal_quantile(x))
EMU_PAIR(erfinv, emu::normal_quantile((x + 1) / 2) * M_SQRT1_2)
EMU_PAIR(erfcinv, -emu::normal_quantile(x / 2) * M_SQRT1_2)
EMU_PAIR(erfcx, exp(x * x) * erfc(x))
#undef EMU_PAIR
inline float rsqrt(float x) { return rsqrtf(x); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
inline double rhypot(double x, double y) { return 1 / hypot(x, y); }
inline float rhypotf(float x, float y) { return 1 / hypotf(x, y); }
inline double norm3d(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }
inline float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
inline double norm4d(double x, double y, double z, double w) { return sqrt(x * x + y * y + z * z + w * w); }
inline float norm4df(float x, float y, float z, float w) { return sqrtf(x * x + y * y + z * z + w * w); }
inline double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
inline float rnorm4df(float x, float y, float z, float w) { return 1 / norm4df(x, y, z, w); }
#define EMU_NORM(name, T, root, result)                                  \
    inline T name(int length, const T* x) {                              \
        T sum = 0;                                                       \
        for (int i = 0; i < length; ++i) sum += x[i] * x[i];             \
        return result;                                                   \
    }
EMU_NORM(norm, double, sqrt, sqrt(sum))
EMU_NORM(rnorm, double, sqrt, 1 / sqrt(sum))
EMU_NORM(normf, float, sqrtf, sqrtf(sum))
EMU_NORM(rnormf, float, sqrtf, 1 / sqrtf(sum))
#undef EMU_NORM
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return b < a ? b : a; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
extern "C" inline float __exp10f(float x) noexcept { return exp10f(x); }
inline float __tanhf(float x) { return tanhf(x); }

#define EMU_ROUNDED(suffix, T, sqrt_function, fma_function)                          \
    inline T __##suffix##add_rn(T a, T b) { return a + b; }                          \
    inline T __##suffix##sub_rn(T a, T b) { return a - b; }                          \
    inline T __##suffix##mul_rn(T a, T b) { return a * b; }                          \
    inline T __##suffix##div_rn(T a, T b) { return a / b; }                          \
    inline T __##suffix##rcp_rn(T a) { return 1 / a; }                               \
    inline T __##suffix##sqrt_rn(T a) { return sqrt_function(a); }                   \
    inline T EMU_FMA_NAME_##suffix(T a, T b, T c) { return fma_function(a, b, c); }
#define EMU_FMA_NAME_f __fmaf_rn
#define EMU_FMA_NAME_d __fma_rn
EMU_ROUNDED(f, float, sqrtf, fmaf)
EMU_ROUNDED(d, double, sqrt, fma)
#undef EMU_ROUNDED

namespace emu {
// The functions rest_of_sum(), rest_of_product(), rest_of_quotient() and rest_of_root() compare an exact
// result with its rounded value `r`. They return a number with the sign of the exact result minus `r`. For
// operands of type float, this number is exact. For operands of type double, it is exact unless a number
// underflows. If an operand is not finite, the functions return 0, because `r` is then exact.
inline bool both_finite(double a, double b) { return std::isfinite(a) && std::isfinite(b); }
inline double rest_of_sum(double a, double b, double r) {
    if (!both_finite(a, b)) return 0;
    double sum = a + b, part = sum - a, lost = (a - (sum - part)) + (b - part);
    return sum != r ? sum - r : lost;
}
inline double rest_of_product(double a, double b, double r) { return both_finite(a, b) ? fma(a, b, -r) : 0; }
inline double rest_of_quotient(double a, double b, double r) {
    if (!both_finite(a, b) || b == 0) return 0;
    return b < 0 ? -fma(-r, b, a) : fma(-r, b, a);
}
inline double rest_of_root(double a, double r) { return std::isfinite(r) ? fma(-r, r, a) : 0; }

// Changes the result `r`, which was rounded to nearest, to the result of another rounding mode: down if
// `down` is true, and up if `up` is true. `rest` has the sign of the exact result minus `r`.
template <class T>
inline T rounded(T r, double rest, bool down, bool up) {
    constexpr T kEnd = std::numeric_limits<T>::infinity();
    // Rounding to nearest has turned a finite result that is out of range into infinity. If the wanted
    // rounding goes towards zero, the largest finite number replaces the infinity.
    if (std::isinf(r)) return rest != 0 && (r > 0 ? down : up) ? std::nextafter(r, T{0}) : r;
    if (rest < 0 && down) return std::nextafter(r, -kEnd);
    if (rest > 0 && up) return std::nextafter(r, kEnd);
    return r;
}
}  // namespace emu
#define EMU_DIRECTED_OF(name, T, result, rest, down, up) \
    inline T name(T a, T b) {                            \
        T r = result;                                    \
        return emu::rounded(r, rest, down, up);          \
    }
#define EMU_DIRECTED(suffix, T, root, mode, down, up)                                                  \
    EMU_DIRECTED_OF(__##suffix##add_##mode, T, a + b, emu::rest_of_sum(a, b, r), down, up)             \
    EMU_DIRECTED_OF(__##suffix##sub_##mode, T, a - b, emu::rest_of_sum(a, -b, r), down, up)            \
    EMU_DIRECTED_OF(__##suffix##mul_##mode, T, a * b, emu::rest_of_product(a, b, r), down, up)         \
    EMU_DIRECTED_OF(__##suffix##div_##mode, T, a / b, emu::rest_of_quotient(a, b, r), down, up)        \
    inline T __##suffix##rcp_##mode(T a) { return __##suffix##div_##mode(T{1}, a); }                   \
    inline T __##suffix##sqrt_##mode(T a) {                                                            \
        T r = root(a);                                                                                 \
        return emu::rounded(r, emu::rest_of_root(a, r), down, up);                                     \
    }
EMU_DIRECTED(f, float, sqrtf, rd, true, false)
EMU_DIRECTED(f, float, sqrtf, ru, false, true)
EMU_DIRECTED(f, float, sqrtf, rz, r > 0, r < 0)
EMU_DIRECTED(d, double, sqrt, rd, true, false)
EMU_DIRECTED(d, double, sqrt, ru, false, true)
EMU_DIRECTED(d, double, sqrt, rz, r > 0, r < 0)
#undef EMU_DIRECTED
#undef EMU_DIRECTED_OF
inline float __frsqrt_rn(float x) { return 1 / sqrtf(x); }

#define EMU_CONVERSION(from, From, to, To)                                                        \
    inline To __##from##2##to##_rz(From x) { return emu::to_integer<To>(trunc(x)); }              \
    inline To __##from##2##to##_rn(From x) { return emu::to_integer<To>(nearbyint(x)); }          \
    inline To __##from##2##to##_ru(From x) { return emu::to_integer<To>(ceil(x)); }               \
    inline To __##from##2##to##_rd(From x) { return emu::to_integer<To>(floor(x)); }
EMU_CONVERSION(float, float, uint, unsigned)
EMU_CONVERSION(float, float, ll, long long)
EMU_CONVERSION(float, float, ull, unsigned long long)
EMU_CONVERSION(double, double, int, int)
EMU_CONVERSION(double, double, uint, unsigned)
EMU_CONVERSION(double, double, ll, long long)
EMU_CONVERSION(double, double, ull, unsigned long long)
#undef EMU_CONVERSION
// EMU_NEAREST defines conversions from `From` to `To`. They compute the rounding error in long double, which
// represents each integer and each number of type double exactly.
#define EMU_NEAREST(from, From, to, To)                                                                                     \
    inline To __##from##2##to##_rn(From x) { return static_cast<To>(x); }                                                   \
    EMU_DIRECTED(from, From, to, To, rd, true, false)                                                                       \
    EMU_DIRECTED(from, From, to, To, ru, false, true)                                                                       \
    EMU_DIRECTED(from, From, to, To, rz, r > 0, r < 0)
#define EMU_DIRECTED(from, From, to, To, mode, down, up)                                                                    \
    inline To __##from##2##to##_##mode(From x) {                                                                            \
        To r = static_cast<To>(x);                                                                                          \
        return emu::rounded(r, std::isfinite(static_cast<long double>(x)) ? static_cast<double>(static_cast<long double>(x) - r) : 0, down, up); \
    }
EMU_NEAREST(int, int, float, float)
EMU_NEAREST(uint, unsigned, float, float)
EMU_NEAREST(ll, long long, float, float)
EMU_NEAREST(ull, unsigned long long, float, float)
EMU_NEAREST(double, double, float, float)
EMU_NEAREST(ll, long long, double, double)
EMU_NEAREST(ull, unsigned long long, double, double)
#undef EMU_NEAREST
#undef EMU_DIRECTED
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low)));
}

// Returns `c` plus the dot product of the four bytes of `a` with the four bytes of `b`.
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
    return c;
}

// __dp2a_lo and __dp2a_hi return `c` plus the dot product of the two 16-bit numbers in `a` with two bytes of `b`.
// __dp2a_lo takes the two low bytes, and __dp2a_hi the two high bytes.
#define EMU_DP2A(name, shift)                                                                               \
    inline int name(int a, int b, int c) {                                                                  \
        b >>= shift;                                                                                        \
        return c + static_cast<short>(a) * static_cast<signed char>(b) + (a >> 16) * static_cast<signed char>(b >> 8); \
    }                                                                                                       \
    inline unsigned name(unsigned a, unsigned b, unsigned c) {                                              \
        b >>= shift;                                                                                        \
        return c + (a & 0xffff) * (b & 255) + (a >> 16) * (b >> 8 & 255);                                   \
    }
EMU_DP2A(__dp2a_lo, 0)
EMU_DP2A(__dp2a_hi, 16)
#undef EMU_DP2A

#include "simd.h"

// CUDA's older warp functions, such as __shfl, have no mask argument. In the emulator all 32 lanes of the
// warp take part in them.
#define EMU_WITHOUT_MASK(name)                                                                      \
    template <class T, class = std::enable_if_t<sizeof(T) <= 8>>                                    \
    inline T name(T value, int other, int width = warpSize, emu::CallSite from = EMU_HERE) {        \
        return name##_sync(~0u, value, other, width, from);                                         \
    }
EMU_WITHOUT_MASK(__shfl)
EMU_WITHOUT_MASK(__shfl_up)
EMU_WITHOUT_MASK(__shfl_down)
EMU_WITHOUT_MASK(__shfl_xor)
#undef EMU_WITHOUT_MASK
inline unsigned __ballot(int predicate, emu::CallSite from = EMU_HERE) { return __ballot_sync(~0u, predicate, from); }
inline int __any(int predicate, emu::CallSite from = EMU_HERE) { return __any_sync(~0u, predicate, from); }
inline int __all(int predicate, emu::CallSite from = EMU_HERE) { return __all_sync(~0u, predicate, from); }

inline void __prof_trigger(int) {}
inline void __brkpt() { emu::fail("__brkpt was called"); }
