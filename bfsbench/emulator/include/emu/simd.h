// CUDA's functions for two 16-bit numbers or four 8-bit numbers in one word, such as __vadd4.
#pragma once

#include <cstdint>
#include <type_traits>

namespace emu {

// Calls update(x, y) for each pair of numbers at the same position in `a` and `b`, as values of type int.
// Returns the results as one word.
template <class Number, class Update>
EMU_INNER inline unsigned by_number(unsigned a, unsigned b, Update update) {
    constexpr int kBits = 8 * sizeof(Number);
    unsigned result = 0;
    for (int at = 0; at < 32; at += kBits) {
        int number = update(int{static_cast<Number>(a >> at)}, int{static_cast<Number>(b >> at)});
        result |= static_cast<unsigned>(static_cast<std::make_unsigned_t<Number>>(number)) << at;
    }
    return result;
}
template <class Number>
inline int nearest_in_range(int x) {
    constexpr int kLeast = std::is_signed_v<Number> ? -(1 << (8 * sizeof(Number) - 1)) : 0;
    constexpr int kMost = kLeast + (1 << 8 * sizeof(Number)) - 1;
    return x < kLeast ? kLeast : x > kMost ? kMost : x;
}

}  // namespace emu

#define EMU_NUMBERS(name, Short, Char, formula)                                             \
    inline unsigned name##2(unsigned a, unsigned b) {                                       \
        using Number = Short;                                                               \
        return emu::by_number<Number>(a, b, [](int x, int y) -> int { return formula; });   \
    }                                                                                       \
    inline unsigned name##4(unsigned a, unsigned b) {                                       \
        using Number = Char;                                                                \
        return emu::by_number<Number>(a, b, [](int x, int y) -> int { return formula; });   \
    }
#define EMU_SIGNED(name, formula) EMU_NUMBERS(name, int16_t, int8_t, formula)
#define EMU_UNSIGNED(name, formula) EMU_NUMBERS(name, uint16_t, uint8_t, formula)
EMU_UNSIGNED(__vadd, x + y)
EMU_UNSIGNED(__vsub, x - y)
EMU_SIGNED(__vaddss, emu::nearest_in_range<Number>(x + y))
EMU_SIGNED(__vsubss, emu::nearest_in_range<Number>(x - y))
EMU_UNSIGNED(__vaddus, emu::nearest_in_range<Number>(x + y))
EMU_UNSIGNED(__vsubus, emu::nearest_in_range<Number>(x - y))
EMU_UNSIGNED(__vavgu, (x + y + 1) >> 1)
EMU_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
EMU_UNSIGNED(__vhaddu, (x + y) >> 1)
EMU_UNSIGNED(__vabsdiffu, x < y ? y - x : x - y)
EMU_SIGNED(__vabsdiffs, x < y ? y - x : x - y)
EMU_SIGNED(__vmaxs, x < y ? y : x)
EMU_UNSIGNED(__vmaxu, x < y ? y : x)
EMU_SIGNED(__vmins, y < x ? y : x)
EMU_UNSIGNED(__vminu, y < x ? y : x)
// Each number of the result tells whether the comparison holds. If it holds, __vcmp functions set all bits of
// the number, and __vset functions set the number to 1. Otherwise the number is 0.
#define EMU_COMPARISON(name, sign)                  \
    EMU_SIGNED(__vcmp##name##s, x sign y ? -1 : 0)  \
    EMU_UNSIGNED(__vcmp##name##u, x sign y ? -1 : 0) \
    EMU_SIGNED(__vset##name##s, x sign y)           \
    EMU_UNSIGNED(__vset##name##u, x sign y)
EMU_COMPARISON(ge, >=)
EMU_COMPARISON(gt, >)
EMU_COMPARISON(le, <=)
EMU_COMPARISON(lt, <)
#undef EMU_COMPARISON
EMU_UNSIGNED(__vcmpeq, x == y ? -1 : 0)
EMU_UNSIGNED(__vcmpne, x != y ? -1 : 0)
EMU_UNSIGNED(__vseteq, x == y)
EMU_UNSIGNED(__vsetne, x != y)
#undef EMU_SIGNED
#undef EMU_UNSIGNED
#undef EMU_NUMBERS

inline unsigned __vneg2(unsigned a) { return __vsub2(0, a); }
inline unsigned __vneg4(unsigned a) { return __vsub4(0, a); }
inline unsigned __vnegss2(unsigned a) { return __vsubss2(0, a); }
inline unsigned __vnegss4(unsigned a) { return __vsubss4(0, a); }
inline unsigned __vabs2(unsigned a) { return __vabsdiffs2(a, 0); }
inline unsigned __vabs4(unsigned a) { return __vabsdiffs4(a, 0); }
inline unsigned __vabsss2(unsigned a) { return __vmaxs2(a, __vnegss2(a)); }
inline unsigned __vabsss4(unsigned a) { return __vmaxs4(a, __vnegss4(a)); }
inline unsigned __vsadu2(unsigned a, unsigned b) {
    unsigned x = __vabsdiffu2(a, b);
    return (x & 0xffff) + (x >> 16);
}
inline unsigned __vsads2(unsigned a, unsigned b) {
    unsigned x = __vabsdiffs2(a, b);
    return (x & 0xffff) + (x >> 16);
}
inline unsigned __vsadu4(unsigned a, unsigned b) { return __dp4a(__vabsdiffu4(a, b), 0x01010101u, 0u); }
inline unsigned __vsads4(unsigned a, unsigned b) { return __dp4a(__vabsdiffs4(a, b), 0x01010101u, 0u); }

// Functions that return the maximum or minimum of two or three numbers. Some of them add two numbers
// first, and some replace a negative result by 0. They exist for one number of 32 bits, and for two
// numbers of 16 bits in a word.
namespace emu {
template <class Number>
Number larger(Number a, Number b) { return a < b ? b : a; }
template <class Number>
Number smaller(Number a, Number b) { return b < a ? b : a; }
template <class Number>
Number positive(Number a) { return a < 0 ? Number{0} : a; }
// Calls choose(a, b, c) for the two numbers of 16 bits in each word. Returns the word of the results.
template <class Number, class Choose>
unsigned of_halves(unsigned a, unsigned b, unsigned c, Choose choose) {
    auto result = [&](int at) { return static_cast<uint16_t>(choose(Number(a >> at), Number(b >> at), Number(c >> at))); };
    return unsigned{result(16)} << 16 | result(0);
}
}  // namespace emu
#define EMU_CHOICE(name, suffix, Number, Short, formula)                                           \
    inline Number name##32##suffix(Number a, Number b, Number c) { return formula; }                     \
    inline unsigned name##16x2##suffix(unsigned x, unsigned y, unsigned z) {                             \
        return emu::of_halves<Short>(x, y, z, [](Short a, Short b, Short c) { return Short(formula); }); \
    }
#define EMU_CHOICES(word, choose)                                                                                     \
    EMU_CHOICE(__viadd##word##_s, , int, int16_t, emu::choose<decltype(a)>(a + b, c))                               \
    EMU_CHOICE(__viadd##word##_s, _relu, int, int16_t, emu::positive(emu::choose<decltype(a)>(a + b, c)))           \
    EMU_CHOICE(__viadd##word##_u, , unsigned, uint16_t, emu::choose<decltype(a)>(a + b, c))                         \
    EMU_CHOICE(__vi##word##3_s, , int, int16_t, emu::choose(emu::choose(a, b), c))                                  \
    EMU_CHOICE(__vi##word##3_s, _relu, int, int16_t, emu::positive(emu::choose(emu::choose(a, b), c)))              \
    EMU_CHOICE(__vi##word##3_u, , unsigned, uint16_t, emu::choose(emu::choose(a, b), c))                            \
    inline int __vi##word##_s32_relu(int a, int b) { return __vi##word##3_s32_relu(a, b, b); }                        \
    inline unsigned __vi##word##_s16x2_relu(unsigned a, unsigned b) { return __vi##word##3_s16x2_relu(a, b, b); }
EMU_CHOICES(max, larger)
EMU_CHOICES(min, smaller)
#undef EMU_CHOICES
#undef EMU_CHOICE
// EMU_CHOICE defines functions that return the larger or the smaller of two numbers. They also store
// whether the result is the first number.
#define EMU_CHOICE(word, sign, kind, Number, Short)                                                             \
    inline Number __vib##word##_##kind##32(Number a, Number b, bool* first) { return (*first = a sign b) ? a : b; } \
    inline unsigned __vib##word##_##kind##16x2(unsigned a, unsigned b, bool* high, bool* low) {                 \
        *high = Short(a >> 16) sign Short(b >> 16);                                                             \
        *low = Short(a) sign Short(b);                                                                          \
        return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu);                                    \
    }
EMU_CHOICE(max, >=, s, int, int16_t)
EMU_CHOICE(max, >=, u, unsigned, uint16_t)
EMU_CHOICE(min, <=, s, int, int16_t)
EMU_CHOICE(min, <=, u, unsigned, uint16_t)
#undef EMU_CHOICE
