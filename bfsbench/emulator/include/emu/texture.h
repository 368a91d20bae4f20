// CUDA's functions with which kernels read textures, and read or write surfaces. runtime/textures.cpp
// implements the access to the texels.
#pragma once

#include "runtime_api.h"
#include "state.h"

namespace emu {

// Describes a function with which kernels access textures or surfaces: its name, its number of coordinates,
// and whether it also takes a layer.
struct Accessor {
    const char* name;
    unsigned dimensions;
    bool layered;
};
// The type of the value that a kernel reads from a texture.
struct Wanted {
    cudaChannelFormatKind kind;
    unsigned count, bits;  // number of components, and bits of each
};

// read_texture() stores the value of a texture at the coordinates `at` in `value`. read_linear() reads a
// texture in linear memory. access_surface() copies `bytes` bytes from a surface to `value`, or from `value`
// to the surface. For a surface, the last element of `at` is the layer or the z coordinate. It is 0 if the
// surface has neither.
EMU_API void read_texture(cudaTextureObject_t texture, Accessor by, const float (&at)[3], int layer, Wanted type, void* value, const void* site);
EMU_API void read_linear(cudaTextureObject_t texture, int index, Wanted type, void* value, const void* site);
EMU_API void access_surface(cudaSurfaceObject_t surface, Accessor by, const int (&at)[3], cudaSurfaceBoundaryMode mode, Act act, void* value, size_t bytes, const void* site);

template <class T>
constexpr Wanted wanted() {
    static_assert(Components<T>::bits <= 32, "textures have no values of this type");
    return {Components<T>::kind, Components<T>::count, Components<T>::bits};
}
template <class T>
constexpr size_t surface_bytes() {
    static_assert(Components<T>::bits > 0 && sizeof(T) <= 16, "surfaces have no values of this type");
    return sizeof(T);
}

}  // namespace emu

// Calls X once for each function that reads textures of arrays. The arguments of X are:
// 1. the function's name,
// 2. its number of coordinates,
// 3. whether it takes a layer,
// 4. its list of parameters,
// 5. the expression for the layer (0 if there is none),
// 6. the expressions for the coordinates.
#define EMU_TEXTURES(X)                                                 \
    X(tex1D, 1, false, (float x), 0, x)                                 \
    X(tex2D, 2, false, (float x, float y), 0, x, y)                     \
    X(tex3D, 3, false, (float x, float y, float z), 0, x, y, z)         \
    X(tex1DLayered, 1, true, (float x, int layer), layer, x)            \
    X(tex2DLayered, 2, true, (float x, float y, int layer), layer, x, y)

// EMU_READ defines two overloads of a CUDA function that reads a texture. One returns the value. The other
// stores the value at a pointer. EMU_LIST removes the parentheses around EMU_READ's list of parameters.
#define EMU_LIST(...) __VA_ARGS__
#define EMU_READ(name, parameters, read)                                                                \
    template <class T>                                                                                  \
    EMU_OWN inline T name(unsigned long long object, EMU_LIST parameters) {                             \
        const void* site = EMU_SITE;                                                                    \
        T value;                                                                                        \
        read;                                                                                           \
        return value;                                                                                   \
    }                                                                                                   \
    template <class T>                                                                                  \
    EMU_OWN inline void name(T* place, unsigned long long object, EMU_LIST parameters) {                \
        const void* site = EMU_SITE;                                                                    \
        T value;                                                                                        \
        read;                                                                                           \
        emu::note(place, sizeof(T), emu::Act::write, site);                                             \
        *place = value;                                                                                 \
    }
#define EMU_TEXTURE(name, dimensions, layered, parameters, layer, ...) \
    EMU_READ(name, parameters, emu::read_texture(object, {#name, dimensions, layered}, {__VA_ARGS__}, layer, emu::wanted<T>(), &value, site))
EMU_READ(tex1Dfetch, (int x), emu::read_linear(object, x, emu::wanted<T>(), &value, site))
EMU_TEXTURES(EMU_TEXTURE)
#undef EMU_TEXTURE

#define EMU_SURFACE(name, dimensions, layered, parameters, ...)                                                                 \
    EMU_READ(name##read, (EMU_LIST parameters, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap),                            \
             emu::access_surface(object, {#name "read", dimensions, layered}, {__VA_ARGS__}, mode, emu::Act::read, &value,      \
                                 emu::surface_bytes<T>(), site))                                                                \
    template <class T>                                                                                                          \
    EMU_OWN inline void name##write(T value, unsigned long long object, EMU_LIST parameters,                                    \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                      \
        emu::access_surface(object, {#name "write", dimensions, layered}, {__VA_ARGS__}, mode, emu::Act::write, &value,         \
                            emu::surface_bytes<T>(), EMU_SITE);                                                                 \
    }
EMU_SURFACE(surf1D, 1, false, (int x), x, 0, 0)
EMU_SURFACE(surf2D, 2, false, (int x, int y), x, y, 0)
EMU_SURFACE(surf3D, 3, false, (int x, int y, int z), x, y, z)
EMU_SURFACE(surf1DLayered, 1, true, (int x, int layer), x, 0, layer)
EMU_SURFACE(surf2DLayered, 2, true, (int x, int y, int layer), x, y, layer)
#undef EMU_SURFACE
#undef EMU_READ
#undef EMU_LIST
