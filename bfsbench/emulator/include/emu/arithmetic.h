// Defines CUDA's intrinsics for arithmetic and bit operations.
#pragma once

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned long long __brevll(unsigned long long x) {
    x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
    x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }

// __funnelshift_l and __funnelshift_r shift by the low five bits of `count`. __funnelshift_lc and
// __funnelshift_rc shift by at most 32 bits.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned count) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>((both << (count < 32 ? count : 32)) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned count) {
    unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned>(both >> (count < 32 ? count : 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned count) {
    return __funnelshift_lc(low, high, count & 31);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned count) {
    return __funnelshift_rc(low, high, count & 31);
}

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned choice = selector >> (4 * i) & 0xf;
        unsigned byte = bytes >> (8 * (choice & 7)) & 0xff;
        if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

// Returns the low 32 bits of the product of two signed 24-bit numbers: the low 24 bits of `a` and of `b`.
inline int __mul24(int a, int b) {
    auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
    return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }

// __sad and __usad return |a - b| + sum. __hadd, __rhadd, __uhadd and __urhadd return the average of two
// numbers without overflow. __rhadd and __urhadd round up.
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return sum + (a < b ? b - a : a - b); }
inline unsigned __sad(int a, int b, unsigned sum) {
    auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
    return sum + (a < b ? y - x : x - y);
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((0ull + a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((1ull + a + b) >> 1); }

#define EMU_BITS(name, From, To)       \
    inline To name(From from) {        \
        To to;                         \
        memcpy(&to, &from, sizeof to); \
        return to;                     \
    }
EMU_BITS(__float_as_int, float, int)
EMU_BITS(__float_as_uint, float, unsigned)
EMU_BITS(__int_as_float, int, float)
EMU_BITS(__uint_as_float, unsigned, float)
EMU_BITS(__double_as_longlong, double, long long)
EMU_BITS(__longlong_as_double, long long, double)
#undef EMU_BITS

// On a GPU, the functions below return approximate values, except __saturatef. In the emulator they are as
// precise as the functions of the C library.
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
#define EMU_FAST(name, function) \
    extern "C" inline float name(float x) noexcept { return function(x); }  // some C libraries also declare `name`
EMU_FAST(__expf, expf)
EMU_FAST(__logf, logf)
EMU_FAST(__log2f, log2f)
EMU_FAST(__log10f, log10f)
EMU_FAST(__sinf, sinf)
EMU_FAST(__cosf, cosf)
EMU_FAST(__tanf, tanf)
#undef EMU_FAST
extern "C" inline float __powf(float x, float y) noexcept { return powf(x, y); }

namespace emu {
// Converts a floating-point number to an integer as a GPU does. A number out of range becomes the nearest
// limit of the integer type, and NaN becomes zero.
template <class To, class From>
inline To to_integer(From x) {
    if (x != x) return 0;
    constexpr To kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
    if (x <= static_cast<From>(kLeast)) return kLeast;
    return x >= static_cast<From>(kMost) ? kMost : static_cast<To>(x);
}
}  // namespace emu
// The suffix of a conversion function names its rounding mode: rn (to nearest, ties to even), rz (towards
// zero), ru (up) or rd (down).
inline int __float2int_rn(float x) { return emu::to_integer<int>(nearbyintf(x)); }
inline int __float2int_rz(float x) { return emu::to_integer<int>(x); }
inline int __float2int_ru(float x) { return emu::to_integer<int>(ceilf(x)); }
inline int __float2int_rd(float x) { return emu::to_integer<int>(floorf(x)); }
#ifndef EMU_PROGRAM
inline float __int2float_rn(int x) { return static_cast<float>(x); }
#endif

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
