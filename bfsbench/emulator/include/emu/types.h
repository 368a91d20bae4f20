// CUDA's built-in vector types, such as int4, with CUDA's sizes and alignments.
#pragma once

#include <cstddef>

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

namespace emu {
constexpr size_t vector_alignment(size_t bytes) { return bytes < 16 ? bytes : 16; }
}  // namespace emu

#define EMU_VECTORS(Element, name)                                                              \
    struct name##1 { Element x; };                                                              \
    struct alignas(emu::vector_alignment(2 * sizeof(Element))) name##2 { Element x, y; };       \
    struct name##3 { Element x, y, z; };                                                        \
    EMU_MAKERS(Element, name, name##3, alignas(emu::vector_alignment(4 * sizeof(Element))))
#define EMU_MAKERS(Element, name, Three, alignment)                                             \
    struct alignment name##4 { Element x, y, z, w; };                                           \
    constexpr name##1 make_##name##1(Element x) { return {x}; }                                 \
    constexpr name##2 make_##name##2(Element x, Element y) { return {x, y}; }                   \
    constexpr Three make_##name##3(Element x, Element y, Element z) { return {x, y, z}; }       \
    constexpr name##4 make_##name##4(Element x, Element y, Element z, Element w) { return {x, y, z, w}; }

EMU_VECTORS(signed char, char)
EMU_VECTORS(unsigned char, uchar)
EMU_VECTORS(short, short)
EMU_VECTORS(unsigned short, ushort)
EMU_VECTORS(int, int)
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
EMU_MAKERS(unsigned, uint, uint3, alignas(16))
EMU_VECTORS(long, long)
EMU_VECTORS(unsigned long, ulong)
EMU_VECTORS(long long, longlong)
EMU_VECTORS(unsigned long long, ulonglong)
EMU_VECTORS(float, float)
EMU_VECTORS(double, double)
#undef EMU_VECTORS
#undef EMU_MAKERS
