// 16-bit floating-point numbers in software: IEEE half and bfloat16. Each operation computes its result in
// float, and rounds it to the nearest 16-bit number, with ties to even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "emu/arithmetic.h"

namespace emu {

inline uint32_t bits_of(float x) {
    uint32_t bits;
    return memcpy(&bits, &x, 4), bits;
}
inline float float_of(uint32_t bits) {
    float x;
    return memcpy(&x, &bits, 4), x;
}

// Shifts `bits` right by `count` bits. Returns the result, rounded to nearest with ties to even.
inline uint32_t rounded_shift(uint32_t bits, unsigned count) {
    uint32_t half = 1u << (count - 1), kept = bits >> count, rest = bits & (2 * half - 1);
    return kept + (rest > half || (rest == half && kept & 1));
}

struct HalfFormat {
    static uint16_t from(float x) {
        uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
        if (size > 0x7f800000) return static_cast<uint16_t>(0x7fff);
        // The number is too large for a half, so it becomes infinity.
        if (size >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
        if (size >= 0x38800000) return static_cast<uint16_t>(sign | rounded_shift(size - (112u << 23), 13));
        unsigned shift = 126 - (size >> 23);
        if (shift > 24) return static_cast<uint16_t>(sign);
        return static_cast<uint16_t>(sign | rounded_shift((size & 0x7fffff) | 0x800000, shift));
    }
    static float to(uint16_t half) {
        uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ffu;
        if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
        if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
        float value = static_cast<float>(fraction) * 0x1p-24f;
        return sign ? -value : value;
    }
};

struct BfloatFormat {
    static uint16_t from(float x) {
        uint32_t bits = bits_of(x);
        return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded_shift(bits, 16));
    }
    static float to(uint16_t bfloat) { return float_of(static_cast<uint32_t>(bfloat) << 16); }
};

template <class T, class = void>
struct IsSmall : std::false_type {};
template <class T>
struct IsSmall<T, std::void_t<typename T::Format>> : std::true_type {};
template <class T, class = void>
struct IsPair : std::false_type {};
template <class T>
struct IsPair<T, std::void_t<typename T::One>> : std::true_type {};

}  // namespace emu

#define EMU_ANY_SMALL template <class Half, std::enable_if_t<emu::IsSmall<Half>::value, int> = 0>
#define EMU_ANY_PAIR template <class Pair, std::enable_if_t<emu::IsPair<Pair>::value, int> = 0>

// EMU_OF_ONE defines two functions: one for a single 16-bit number, and one that computes the formula for
// each element of a pair.
#define EMU_OF_ONE(name, formula)                                              \
    EMU_ANY_SMALL inline Half h##name(Half a) {             \
        float x = a;                                                           \
        return Half(formula);                                           \
    }                                                                          \
    EMU_ANY_PAIR inline Pair h2##name(Pair a) { return {h##name(a.x), h##name(a.y)}; }
EMU_OF_ONE(exp, expf(x))
EMU_OF_ONE(exp2, exp2f(x))
EMU_OF_ONE(exp10, exp10f(x))
EMU_OF_ONE(log, logf(x))
EMU_OF_ONE(log2, log2f(x))
EMU_OF_ONE(log10, log10f(x))
EMU_OF_ONE(sqrt, sqrtf(x))
EMU_OF_ONE(rsqrt, rsqrtf(x))
EMU_OF_ONE(rcp, 1 / x)
EMU_OF_ONE(sin, sinf(x))
EMU_OF_ONE(cos, cosf(x))
EMU_OF_ONE(tanh, tanhf(x))
EMU_OF_ONE(tanh_approx, tanhf(x))
EMU_OF_ONE(floor, floorf(x))
EMU_OF_ONE(ceil, ceilf(x))
EMU_OF_ONE(trunc, truncf(x))
EMU_OF_ONE(rint, rintf(x))
#undef EMU_OF_ONE

#define EMU_OF_TWO(name, formula)                                                                              \
    EMU_ANY_SMALL inline Half __h##name(Half a, Half b) { return formula; }          \
    EMU_ANY_PAIR inline Pair __h##name##2(Pair a, Pair b) {       \
        return {__h##name(a.x, b.x), __h##name(a.y, b.y)};                                                     \
    }
EMU_OF_TWO(add, a + b)
EMU_OF_TWO(sub, a - b)
EMU_OF_TWO(mul, a * b)
EMU_OF_TWO(div, a / b)
EMU_OF_TWO(add_rn, a + b)
EMU_OF_TWO(mul_rn, a * b)
EMU_OF_TWO(max, a != a || b > a ? b : a)
EMU_OF_TWO(min, a != a || b < a ? b : a)
EMU_OF_TWO(max_nan, a != a || a > b ? a : b)
EMU_OF_TWO(min_nan, a != a || a < b ? a : b)
EMU_ANY_PAIR inline Pair __h2div(Pair a, Pair b) { return a / b; }
#undef EMU_OF_TWO
#define EMU_COMPARISON(name, formula)                                                                        \
    EMU_ANY_SMALL inline bool __h##name(Half a, Half b) { return formula; }                                  \
    EMU_ANY_PAIR inline Pair __h##name##2(Pair a, Pair b) { return {typename Pair::One(__h##name(a.x, b.x)), typename Pair::One(__h##name(a.y, b.y))}; } \
    EMU_ANY_PAIR inline bool __hb##name##2(Pair a, Pair b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
// If an operand is NaN, comparisons whose names end in u return true, and all other comparisons return
// false.
EMU_COMPARISON(eq, a == b)
EMU_COMPARISON(ne, a < b || a > b)
EMU_COMPARISON(lt, a < b)
EMU_COMPARISON(gt, a > b)
EMU_COMPARISON(le, a <= b)
EMU_COMPARISON(ge, a >= b)
EMU_COMPARISON(equ, !(a < b || a > b))
EMU_COMPARISON(neu, a != b)
EMU_COMPARISON(ltu, !(a >= b))
EMU_COMPARISON(gtu, !(a <= b))
EMU_COMPARISON(leu, !(a > b))
EMU_COMPARISON(geu, !(a < b))
#undef EMU_COMPARISON
EMU_ANY_SMALL inline Half __hneg(Half a) { return -a; }
EMU_ANY_SMALL inline Half __habs(Half a) { return Half::of_bits(a.bits & 0x7fff); }
EMU_ANY_PAIR inline Pair __hneg2(Pair a) { return -a; }
EMU_ANY_PAIR inline Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }
EMU_ANY_SMALL inline bool __hisnan(Half a) { return float(a) != float(a); }
EMU_ANY_SMALL inline int __hisinf(Half a) { return __builtin_isinf_sign(float(a)); }
// fmaf computes a * b + c exactly and rounds to float. Half() then rounds the float to 16 bits.
EMU_ANY_SMALL inline Half __hfma(Half a, Half b, Half c) { return Half(fmaf(float(a), float(b), float(c))); }
EMU_ANY_PAIR inline Pair __hfma2(Pair a, Pair b, Pair c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
// EMU_SATURATED defines two functions: name_sat limits the result of the function `name` to 0 .. 1, and
// name2_sat does so for pairs.
#define EMU_SATURATED(name, parameters, pairs, values, x, y)                                    \
    EMU_ANY_SMALL inline Half name##_sat parameters { return Half(__saturatef(float(name values))); } \
    EMU_ANY_PAIR inline Pair name##2_sat pairs { return {name##_sat x, name##_sat y}; }
EMU_SATURATED(__hadd, (Half a, Half b), (Pair a, Pair b), (a, b), (a.x, b.x), (a.y, b.y))
EMU_SATURATED(__hsub, (Half a, Half b), (Pair a, Pair b), (a, b), (a.x, b.x), (a.y, b.y))
EMU_SATURATED(__hmul, (Half a, Half b), (Pair a, Pair b), (a, b), (a.x, b.x), (a.y, b.y))
EMU_SATURATED(__hfma, (Half a, Half b, Half c), (Pair a, Pair b, Pair c), (a, b, c), (a.x, b.x, c.x), (a.y, b.y, c.y))
#undef EMU_SATURATED
EMU_ANY_SMALL inline Half __hfma_relu(Half a, Half b, Half c) { return Half(fmaxf(float(__hfma(a, b, c)), 0.f)); }
EMU_ANY_PAIR inline Pair __hfma2_relu(Pair a, Pair b, Pair c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
EMU_ANY_PAIR inline Pair __hisnan2(Pair a) { return {typename Pair::One(__hisnan(a.x)), typename Pair::One(__hisnan(a.y))}; }

#ifdef __CUDACC__
#define EMU_SMALL_ATOMICS(Short, Type2)                                                                        \
    EMU_OWN inline Short atomicAdd(Short* address, Short value) {                                              \
        emu::note_atomic(address, sizeof(Short), emu::Scope::device, EMU_SITE);                                \
        return emu::fetch_update(address, [=](Short old) { return old + value; });                             \
    }                                                                                                          \
    EMU_OWN inline Type2 atomicAdd(Type2* address, Type2 value) {                                              \
        emu::note_atomic(address, sizeof(Type2), emu::Scope::device, EMU_SITE);                                \
        return emu::fetch_update(address, [=](Type2 old) { return old + value; });                             \
    }
#else  // a .cpp file has no kernels
#define EMU_SMALL_ATOMICS(Short, Type2)
#endif

// EMU_SMALL defines, for one 16-bit type, the functions whose names contain the type, such as __float2half.
#define EMU_SMALL(Type, Type2, Short, name, name2)                                                             \
    inline Short __float2##name(float x) { return Short(x); }                                                  \
    inline Short __float2##name##_rn(float x) { return Short(x); }                                             \
    inline Short __double2##name(double x) { return Short(static_cast<float>(x)); }                            \
    inline float __##name##2float(Short x) { return x; }                                                       \
    inline Short __int2##name##_rn(int x) { return Short(static_cast<float>(x)); }                             \
    inline Short __uint2##name##_rn(unsigned x) { return Short(static_cast<float>(x)); }                       \
    inline Short __short2##name##_rn(short x) { return Short(static_cast<float>(x)); }                         \
    inline Short __ushort2##name##_rn(unsigned short x) { return Short(static_cast<float>(x)); }               \
    inline int __##name##2int_rn(Short x) { return static_cast<int>(nearbyintf(x)); }                          \
    inline int __##name##2int_rz(Short x) { return static_cast<int>(float(x)); }                               \
    inline int __##name##2int_rd(Short x) { return static_cast<int>(floorf(x)); }                              \
    inline unsigned __##name##2uint_rn(Short x) { return static_cast<unsigned>(nearbyintf(x)); }               \
    inline short __##name##2short_rn(Short x) { return static_cast<short>(nearbyintf(x)); }                    \
    inline short __##name##2short_rz(Short x) { return static_cast<short>(float(x)); }                         \
    inline int __##name##2int_ru(Short x) { return static_cast<int>(ceilf(x)); }                               \
    inline Short __ll2##name##_rn(long long x) { return Short(static_cast<float>(x)); }                        \
    inline Short __ull2##name##_rn(unsigned long long x) { return Short(static_cast<float>(x)); }              \
    inline unsigned __##name##2uint_rz(Short x) { return static_cast<unsigned>(float(x)); }                    \
    inline Short __ushort_as_##name(unsigned short bits) { return Short::of_bits(bits); }                      \
    inline Short __short_as_##name(short bits) { return Short::of_bits(static_cast<unsigned short>(bits)); }   \
    inline unsigned short __##name##_as_ushort(Short x) { return x.bits; }                                     \
    inline short __##name##_as_short(Short x) { return static_cast<short>(x.bits); }                           \
    inline Type2 __float2##name2##_rn(float x) { return {Short(x), Short(x)}; }                                \
    inline Type2 __floats2##name2##_rn(float x, float y) { return {Short(x), Short(y)}; }                      \
    inline Type2 __float22##name2##_rn(float2 v) { return {Short(v.x), Short(v.y)}; }                          \
    inline float2 __##name##22float2(Type2 v) { return {v.x, v.y}; }                                           \
    inline Type2 __##name##2##name2(Short x) { return {x, x}; }                                                \
    inline Short __low2##name(Type2 v) { return v.x; }                                                         \
    inline Short __high2##name(Type2 v) { return v.y; }                                                        \
    inline float __low2float(Type2 v) { return v.x; }                                                          \
    inline float __high2float(Type2 v) { return v.y; }                                                         \
    inline Type2 __low2##name2(Type2 v) { return {v.x, v.x}; }                                                 \
    inline Type2 __high2##name2(Type2 v) { return {v.y, v.y}; }                                                \
    inline Type2 __lowhigh2highlow(Type2 v) { return {v.y, v.x}; }                                             \
    inline Type2 __lows2##name2(Type2 a, Type2 b) { return {a.x, b.x}; }                                       \
    inline Type2 __highs2##name2(Type2 a, Type2 b) { return {a.y, b.y}; }                                      \
    inline Type2 __halves2##name2(Short x, Short y) { return {x, y}; }                                         \
    inline Type2 make_##Type2(Short x, Short y) { return {x, y}; }                                             \
    EMU_SMALL_ATOMICS(Short, Type2)
