// The part of CUDA's runtime API for CUDA arrays, texture objects and surface objects. runtime_api.h includes
// this file, and runtime/textures.cpp defines the functions. Mipmaps, cubemaps, gathers, and sparse
// arrays have no declarations, so a program that uses them does not compile.
#pragma once

#include <type_traits>

#define cudaArrayDefault 0u
#define cudaArrayLayered 1u
#define cudaArraySurfaceLoadStore 2u

enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
enum cudaResourceType { cudaResourceTypeArray = 0, cudaResourceTypeLinear = 2, cudaResourceTypePitch2D = 3 };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

using cudaArray_t = struct cudaArray*;
using cudaArray_const_t = const struct cudaArray*;
using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { void* devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
        struct { void* devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
    } res;
    unsigned flags;
};
struct cudaResourceViewDesc;  // incomplete, because views of resources are not supported
namespace emu {
// A setting that programs may only set to 0, because other values are not supported.
struct Zero {
    Zero() = default;
    constexpr Zero(std::nullptr_t) {}
};
}  // namespace emu
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    emu::Zero sRGB;
    float borderColor[4];
    int normalizedCoords;
    // The members from maxAnisotropy to disableTrilinearOptimization have no effect, because the emulator has
    // neither mipmaps nor anisotropic filtering.
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization;
    emu::Zero seamlessCubemap;
};
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};

EMU_C cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height = 0, unsigned flags = 0);
EMU_C cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags = 0);
EMU_C cudaError_t cudaFreeArray(cudaArray_t array);
EMU_C cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array);

// In the functions that copy to or from an array, `x` and `y` are a position in the array: an offset in bytes
// from the start of a row, and the number of the row.
EMU_C cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y, size_t width, size_t height, cudaMemcpyKind kind = cudaMemcpyDeviceToDevice);
EMU_C cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters);
EMU_C cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream = nullptr);

EMU_C cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource, const cudaTextureDesc* how, const cudaResourceViewDesc* view);
EMU_C cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
EMU_C cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource);
EMU_C cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);

namespace emu {

// Describes the components of a texel of type T: their number, and the type of each component.
template <class T>
struct Components {};  // textures and surfaces have no values of type T
template <class T, unsigned kCount>
struct ComponentsOf {
    static constexpr unsigned count = kCount, bits = 8 * sizeof(T);
    static constexpr cudaChannelFormatKind kind =
        std::is_floating_point_v<T> ? cudaChannelFormatKindFloat : std::is_signed_v<T> ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
};
#define EMU_COMPONENTS(T, name)                                     \
    template <> struct Components<T> : ComponentsOf<T, 1> {};       \
    template <> struct Components<name##1> : ComponentsOf<T, 1> {}; \
    template <> struct Components<name##2> : ComponentsOf<T, 2> {}; \
    template <> struct Components<name##4> : ComponentsOf<T, 4> {};
EMU_COMPONENTS(signed char, char)
EMU_COMPONENTS(unsigned char, uchar)
EMU_COMPONENTS(short, short)
EMU_COMPONENTS(unsigned short, ushort)
EMU_COMPONENTS(int, int)
EMU_COMPONENTS(unsigned, uint)
EMU_COMPONENTS(float, float)
EMU_COMPONENTS(long long, longlong)  // for surfaces
EMU_COMPONENTS(unsigned long long, ulonglong)
#undef EMU_COMPONENTS
template <> struct Components<char> : ComponentsOf<char, 1> {};

}  // namespace emu

EMU_C cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    using Of = emu::Components<T>;
    constexpr int bits = Of::bits;
    return {bits, Of::count > 1 ? bits : 0, Of::count > 2 ? bits : 0, Of::count > 2 ? bits : 0, Of::kind};
}
