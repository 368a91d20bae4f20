// Texture references, which CUDA 12 removed. A texture reference is a texture that a program declares as a
// variable at file scope, such as texture<float, 2> image. The host binds the reference to memory or to an
// array, and kernels read it. Each binding creates a texture object (texture.h). In such declarations the
// translator replaces `texture` by emu::TextureReference. The emulator's headers define nothing called
// `texture`, so a program may use this name for its own variables and functions.
#pragma once

#include "emu/texture.h"

#define cudaTextureType1D 0x01
#define cudaTextureType2D 0x02
#define cudaTextureType3D 0x03
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2

// The settings of a reference, which the host may change before it binds the reference.
struct textureReference {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
    cudaTextureReadMode emu_read_mode;
    mutable cudaTextureObject_t emu_object;  // 0 while the reference is not bound
};

namespace emu {

template <class T, int kDimensions = cudaTextureType1D, cudaTextureReadMode kReadMode = cudaReadModeElementType>
struct TextureReference : textureReference {
    static_assert(Components<T>::bits <= 32, "textures have no values of this type");
    TextureReference(int normalized = 0, cudaTextureFilterMode filter = cudaFilterModePoint, cudaTextureAddressMode address = cudaAddressModeClamp,
                     cudaChannelFormatDesc format = cudaCreateChannelDesc<T>())
        : textureReference{normalized, filter, {address, address, address}, format, kReadMode, 0} {}
};

// TextureValue<T, kReadMode> is the type that kernels get when they read a reference to texels of type T.
// Floats<n> is the type of n floats.
template <unsigned kCount> struct Floats;
template <> struct Floats<1> { using type = float; };
template <> struct Floats<2> { using type = float2; };
template <> struct Floats<4> { using type = float4; };
template <class T, cudaTextureReadMode kReadMode>
using TextureValue = typename std::conditional_t<kReadMode == cudaReadModeElementType, std::common_type<T>, Floats<Components<T>::count>>::type;

// Binds a reference to an array or to memory, and ends its earlier binding. A texture must begin at an
// aligned address. If `resource` begins at another address, the texture begins at the last aligned address
// before it, and `offset` receives the distance in bytes. In this case `offset` must not be null.
EMU_API cudaError_t bind(const textureReference& reference, cudaResourceDesc resource, size_t* offset);

inline cudaError_t bind_linear(size_t* offset, const textureReference& reference, const void* place, const cudaChannelFormatDesc& format, size_t bytes) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {const_cast<void*>(place), format, bytes};
    return bind(reference, resource, offset);
}
inline cudaError_t bind_rows(size_t* offset, const textureReference& reference, const void* place, const cudaChannelFormatDesc& format, size_t width, size_t height, size_t pitch) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {const_cast<void*>(place), format, width, height, pitch};
    return bind(reference, resource, offset);
}
inline cudaError_t bind_array(const textureReference& reference, cudaArray_const_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    return bind(reference, resource, nullptr);
}

}  // namespace emu

// CUDA's functions that bind a texture reference have two forms. The older form takes pointers. The newer
// form takes C++ references, and the format may be omitted.
inline cudaError_t cudaBindTexture(size_t* offset, const textureReference* reference, const void* place, const cudaChannelFormatDesc* format, size_t bytes = ~0u) {
    return emu::bind_linear(offset, *reference, place, *format, bytes);
}
inline cudaError_t cudaBindTexture(size_t* offset, const textureReference& reference, const void* place, const cudaChannelFormatDesc& format, size_t bytes = ~0u) {
    return emu::bind_linear(offset, reference, place, format, bytes);
}
inline cudaError_t cudaBindTexture(size_t* offset, const textureReference& reference, const void* place, size_t bytes = ~0u) {
    return emu::bind_linear(offset, reference, place, reference.channelDesc, bytes);
}
inline cudaError_t cudaBindTexture2D(size_t* offset, const textureReference* reference, const void* place, const cudaChannelFormatDesc* format, size_t width, size_t height, size_t pitch) {
    return emu::bind_rows(offset, *reference, place, *format, width, height, pitch);
}
inline cudaError_t cudaBindTexture2D(size_t* offset, const textureReference& reference, const void* place, const cudaChannelFormatDesc& format, size_t width, size_t height, size_t pitch) {
    return emu::bind_rows(offset, reference, place, format, width, height, pitch);
}
inline cudaError_t cudaBindTexture2D(size_t* offset, const textureReference& reference, const void* place, size_t width, size_t height, size_t pitch) {
    return emu::bind_rows(offset, reference, place, reference.channelDesc, width, height, pitch);
}
inline cudaError_t cudaBindTextureToArray(const textureReference* reference, cudaArray_const_t array, const cudaChannelFormatDesc*) {
    return emu::bind_array(*reference, array);
}
inline cudaError_t cudaBindTextureToArray(const textureReference& reference, cudaArray_const_t array) { return emu::bind_array(reference, array); }
inline cudaError_t cudaBindTextureToArray(const textureReference& reference, cudaArray_const_t array, const cudaChannelFormatDesc&) {
    return emu::bind_array(reference, array);
}
EMU_API cudaError_t cudaUnbindTexture(const textureReference& reference);
inline cudaError_t cudaUnbindTexture(const textureReference* reference) { return cudaUnbindTexture(*reference); }

#define EMU_LIST(...) __VA_ARGS__
#define EMU_READ(name, parameters, read)                                                            \
    template <class T, int kDimensions, cudaTextureReadMode kReadMode>                              \
    EMU_OWN inline emu::TextureValue<T, kReadMode> name(                                            \
        const emu::TextureReference<T, kDimensions, kReadMode>& reference, EMU_LIST parameters) {   \
        emu::TextureValue<T, kReadMode> value;                                                      \
        constexpr emu::Wanted type = emu::wanted<decltype(value)>();                                \
        read;                                                                                       \
        return value;                                                                               \
    }
#define EMU_TEXTURE(name, dimensions, layered, parameters, layer, ...) \
    EMU_READ(name, parameters, emu::read_texture(reference.emu_object, {#name, dimensions, layered}, {__VA_ARGS__}, layer, type, &value, EMU_SITE))
EMU_READ(tex1Dfetch, (int x), emu::read_linear(reference.emu_object, x, type, &value, EMU_SITE))
EMU_TEXTURES(EMU_TEXTURE)
#undef EMU_TEXTURE
#undef EMU_READ
#undef EMU_LIST
