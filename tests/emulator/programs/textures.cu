// CUDA arrays, textures and surfaces. The expected values follow from the formulas in the CUDA programming
// guide, in its appendix on fetching textures.
#include <cstdio>
#include <cstring>
#include <vector>

#include "expect.h"

struct At {
    float x, y, z;
    int layer;
};

template <class T, int kDimensions, bool kLayered>
__global__ void read(cudaTextureObject_t texture, const At *at, T *out) {
    At p = at[threadIdx.x];
    T value;
    if (kDimensions == 0) value = tex1Dfetch<T>(texture, p.layer);
    if (kDimensions == 1 && kLayered) value = tex1DLayered<T>(texture, p.x, p.layer);
    if (kDimensions == 1 && !kLayered) value = tex1D<T>(texture, p.x);
    if (kDimensions == 2 && kLayered) value = tex2DLayered<T>(texture, p.x, p.y, p.layer);
    if (kDimensions == 2 && !kLayered) value = tex2D<T>(texture, p.x, p.y);
    if (kDimensions == 3) tex3D(&value, texture, p.x, p.y, p.z);
    out[threadIdx.x] = value;
}

// Returns the values of a texture at some places.
template <class T, int kDimensions, bool kLayered = false>
std::vector<T> values(cudaTextureObject_t texture, const std::vector<At> &places) {
    At *at;
    T *out;
    std::vector<T> host(places.size());
    DO(cudaMalloc(&at, places.size() * sizeof(At)));
    DO(cudaMalloc(&out, places.size() * sizeof(T)));
    DO(cudaMemcpy(at, places.data(), places.size() * sizeof(At), cudaMemcpyHostToDevice));
    read<T, kDimensions, kLayered><<<1, static_cast<unsigned>(places.size())>>>(texture, at, out);
    DO(cudaMemcpy(host.data(), out, places.size() * sizeof(T), cudaMemcpyDeviceToHost));
    DO(cudaFree(at));
    DO(cudaFree(out));
    DO(cudaDestroyTextureObject(texture));
    return host;
}
template <class T, int kDimensions, bool kLayered = false>
void expect(int line, cudaTextureObject_t texture, const std::vector<At> &places, const std::vector<T> &expected) {
    std::vector<T> found = values<T, kDimensions, kLayered>(texture, places);
    for (size_t i = 0; i < expected.size(); ++i) {
        if (!memcmp(&found[i], &expected[i], sizeof(T))) continue;
        printf("line %d: value %zu is %g instead of %g\n", line, i, double(found[i]), double(expected[i])), ++failures;
    }
}

cudaTextureDesc settings(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized, cudaTextureReadMode as = cudaReadModeElementType) {
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalized;
    how.readMode = as;
    return how;
}
cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}
cudaTextureObject_t texture_of(const cudaResourceDesc &resource, const cudaTextureDesc &how) {
    cudaTextureObject_t texture = 0;
    DO(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

void modes_of_addresses_and_filters() {
    const float texels[] = {10, 20, 30, 40};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    DO(cudaMallocArray(&array, &format, 4, 1));  // one row, which tex1D may read
    DO(cudaMemcpyToArray(array, 0, 0, texels, sizeof texels, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = resource_of(array);
    const auto clamp = cudaAddressModeClamp, border = cudaAddressModeBorder, wrap = cudaAddressModeWrap, mirror = cudaAddressModeMirror;
    const auto point = cudaFilterModePoint, linear = cudaFilterModeLinear;
    auto line = [&](int number, cudaTextureDesc how, std::vector<float> places, std::vector<float> expected) {
        std::vector<At> at;
        for (float x : places) at.push_back({x});
        expect<float, 1>(number, texture_of(resource, how), at, expected);
    };
    const std::vector<float> near = {-1.5f, 0.5f, 1.25f, 3.9f, 4.5f, 1e30f}, ends = {0, 4, 1.25f, 1.1f, -9, 1e30f};
    const std::vector<float> normal = {1.125f, -0.125f, 1.375f, 0.375f, -7.875f, 2.625f};
    line(__LINE__, settings(clamp, point, false), near, {10, 10, 20, 40, 40, 40});
    line(__LINE__, settings(wrap, point, false), near, {10, 10, 20, 40, 40, 40});
    line(__LINE__, settings(mirror, point, false), near, {10, 10, 20, 40, 40, 40});
    line(__LINE__, settings(border, point, false), near, {0, 10, 20, 40, 0, 0});
    line(__LINE__, settings(clamp, linear, false), ends, {10, 40, 17.5f, 16.015625f, 10, 40});
    line(__LINE__, settings(border, linear, false), ends, {2.5f, 10, 8.75f, 8.0078125f, 0, 0});
    line(__LINE__, settings(clamp, point, true), normal, {40, 10, 40, 20, 10, 40});
    line(__LINE__, settings(border, point, true), normal, {0, 0, 0, 20, 0, 0});
    line(__LINE__, settings(wrap, point, true), normal, {10, 40, 20, 20, 10, 30});
    line(__LINE__, settings(mirror, point, true), normal, {40, 10, 30, 20, 10, 30});
    line(__LINE__, settings(wrap, linear, true), {0, 1, 0.25f, -2}, {25, 25, 15, 25});
    line(__LINE__, settings(mirror, linear, true), {0, 1, 1.25f, -0.25f}, {10, 40, 35, 15});
    cudaTextureDesc coloured = settings(border, linear, true);
    coloured.borderColor[0] = 100;
    line(__LINE__, coloured, {-1, 0, 0.125f}, {100, 77.5f, 55});
    DO(cudaFreeArray(array));
}

template <class T>
__global__ void through(cudaTextureObject_t texture, cudaSurfaceObject_t surface) {
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(tex2D<T>(texture, x + 0.5f, y + 0.5f), surface, x * sizeof(T), y);
}
template <class T>
__global__ void back(cudaSurfaceObject_t surface, T *out) {
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dread(&out[y * 4 + x], surface, x * sizeof(T), y);
}

// Copies 4 x 3 texels of one type to an array, through a texture and a surface, and back.
template <class T>
void one_type() {
    unsigned char texels[12 * sizeof(T)], returned[sizeof texels] = {};
    // The exponents of these numbers are small, so they are usual floats.
    for (size_t i = 0; i < sizeof texels; ++i) texels[i] = static_cast<unsigned char>(i % 4 == 3 ? 64 + i : 37 * i);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>(), known;
    cudaArray_t first, second;
    cudaSurfaceObject_t surface;
    size_t row = 4 * sizeof(T);
    DO(cudaMallocArray(&first, &format, 4, 3));
    DO(cudaMallocArray(&second, &format, 4, 3, cudaArraySurfaceLoadStore));
    DO(cudaMemcpy2DToArray(first, 0, 0, texels, row, row, 3, cudaMemcpyHostToDevice));
    DO(cudaGetChannelDesc(&known, first));
    TRUE(known.x == format.x && known.w == format.w && known.f == format.f);
    cudaTextureObject_t texture = texture_of(resource_of(first), settings(cudaAddressModeClamp, cudaFilterModePoint, false));
    cudaResourceDesc resource = resource_of(second);
    DO(cudaCreateSurfaceObject(&surface, &resource));
    through<T><<<1, dim3(4, 3)>>>(texture, surface);
    DO(cudaMemcpy2DFromArray(returned, row, second, 0, 0, row, 3, cudaMemcpyDeviceToHost));
    TRUE(!memcmp(texels, returned, sizeof texels));
    T *out;
    DO(cudaMalloc(&out, sizeof texels));
    back<<<1, dim3(4, 3)>>>(surface, out);
    DO(cudaMemcpy(returned, out, sizeof texels, cudaMemcpyDeviceToHost));
    TRUE(!memcmp(texels, returned, sizeof texels));
    DO(cudaFree(out));
    DO(cudaDestroyTextureObject(texture));
    DO(cudaDestroySurfaceObject(surface));
    DO(cudaFreeArray(first));
    DO(cudaFreeArray(second));
}
template <class... T>
void types() {
    (one_type<T>(), ...);
}

void normalized_floats() {
    const unsigned char bytes[] = {0, 51, 255, 102};
    const short shorts[] = {-32768, -32767, 0, 32767};
    cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>(), wide = cudaCreateChannelDesc<short>();
    cudaArray_t array, second;
    const auto as = cudaReadModeNormalizedFloat;
    const auto clamp = cudaAddressModeClamp;
    DO(cudaMallocArray(&array, &format, 4));
    DO(cudaMallocArray(&second, &wide, 4));
    DO(cudaMemcpyToArray(array, 0, 0, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    DO(cudaMemcpyToArray(second, 0, 0, shorts, sizeof shorts, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = resource_of(array);
    expect<float, 1>(__LINE__, texture_of(resource, settings(clamp, cudaFilterModePoint, false, as)), {{0.5f}, {1.5f}, {2.5f}}, {0, 0.2f, 1});
    expect<float, 1>(__LINE__, texture_of(resource, settings(clamp, cudaFilterModeLinear, false, as)), {{0.5f}, {2.5f}}, {0, 1});
    // Narrow texels may be read as wider integers.
    expect<unsigned, 1>(__LINE__, texture_of(resource, settings(clamp, cudaFilterModePoint, false)), {{2.5f}, {3.5f}}, {255, 102});
    expect<float, 1>(__LINE__, texture_of(resource_of(second), settings(clamp, cudaFilterModePoint, false, as)), {{0.5f}, {1.5f}, {2.5f}, {3.5f}}, {-1, -1, 0, 1});
    cudaTextureDesc how = settings(clamp, cudaFilterModeLinear, false);
    cudaTextureObject_t texture;
    IS(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    cudaSurfaceObject_t surface;
    DO(cudaCreateSurfaceObject(&surface, &resource));
    DO(cudaDestroySurfaceObject(surface));
    cudaGetLastError();
    DO(cudaFreeArray(array));
    DO(cudaFreeArray(second));
}

__global__ void edges(cudaSurfaceObject_t surface, float *out) {
    out[0] = surf2Dread<float>(surface, -4, 1, cudaBoundaryModeClamp);
    out[1] = surf2Dread<float>(surface, 400, 9, cudaBoundaryModeClamp);
    out[2] = surf2Dread<float>(surface, -4, 1, cudaBoundaryModeZero);
    out[3] = surf2Dread<float>(surface, 8, 1, cudaBoundaryModeTrap);
    surf2Dwrite(7.0f, surface, 16, 0, cudaBoundaryModeZero);
    surf2Dwrite(8.0f, surface, 16, 0, cudaBoundaryModeClamp);
}

void pictures() {
    const float texels[3][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}, {20, 21, 22, 23}};
    float other[3][4] = {}, found[4], *out, *pitched;
    cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array, second;
    DO(cudaMallocArray(&array, &format, 4, 3, cudaArraySurfaceLoadStore));
    DO(cudaMallocArray(&second, &format, 4, 3));
    DO(cudaMemcpy2DToArrayAsync(array, 0, 0, texels, 16, 16, 3, cudaMemcpyHostToDevice));
    DO(cudaMemcpy2DArrayToArray(second, 0, 0, array, 0, 0, 16, 3));
    DO(cudaMemcpy2DToArray(second, 4, 1, texels[2], 8, 8, 2, cudaMemcpyHostToDevice));
    DO(cudaMemcpy2DFromArrayAsync(other, 16, second, 0, 0, 16, 3, cudaMemcpyDeviceToHost));
    DO(cudaDeviceSynchronize());
    TRUE(other[0][3] == 3 && other[1][1] == 20 && other[1][2] == 21 && other[2][1] == 22 && other[2][3] == 23);
    const auto smooth = settings(cudaAddressModeClamp, cudaFilterModeLinear, false);
    expect<float, 2>(__LINE__, texture_of(resource_of(array), smooth), {{1, 1}, {0.5f, 2.5f}, {2.25f, 1.75f}, {9, -9}}, {5.5f, 20, 14.25f, 3});
    cudaSurfaceObject_t surface;
    cudaResourceDesc resource = resource_of(array);
    DO(cudaCreateSurfaceObject(&surface, &resource));
    DO(cudaMalloc(&out, sizeof found));
    edges<<<1, 1>>>(surface, out);
    DO(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    TRUE(found[0] == 10 && found[1] == 23 && found[2] == 0 && found[3] == 12);
    DO(cudaMemcpyFromArray(found, array, 8, 0, 12, cudaMemcpyDeviceToHost));
    TRUE(found[0] == 2 && found[1] == 8 && found[2] == 10);
    DO(cudaDestroySurfaceObject(surface));
    DO(cudaFree(out));
    DO(cudaFreeArray(array));
    DO(cudaFreeArray(second));
    resource.resType = cudaResourceTypePitch2D;
    auto &rows = resource.res.pitch2D;
    DO(cudaMallocPitch(&pitched, &rows.pitchInBytes, 16, 3));
    DO(cudaMemcpy2D(pitched, rows.pitchInBytes, texels, 16, 16, 3, cudaMemcpyHostToDevice));
    rows.devPtr = pitched;
    rows.desc = format;
    rows.width = 4;
    rows.height = 3;
    expect<float, 2>(__LINE__, texture_of(resource, smooth), {{1, 1}, {9, 9}}, {5.5f, 23});
    cudaTextureObject_t texture;
    rows.pitchInBytes -= 4;
    IS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &resource, &smooth, nullptr));
    cudaGetLastError();
    DO(cudaFree(pitched));
}

__global__ void add_one(cudaSurfaceObject_t surface) {
    int x = threadIdx.x * sizeof(int), y = threadIdx.y, z = threadIdx.z;
    int value = surf3Dread<int>(surface, x, y, z);
    surf3Dwrite(value + 1, surface, x, y, z);
}
__global__ void change_layer(cudaSurfaceObject_t surface, int layer) {
    int x = threadIdx.x * sizeof(float), value;
    surf2DLayeredread(&value, surface, x, 1, layer);
    surf2DLayeredwrite(value, surface, x, 0, layer);
}
__global__ void change_line(cudaSurfaceObject_t surface, cudaSurfaceObject_t layers) {
    float2 value = surf1Dread<float2>(surface, 8);
    surf1Dwrite(value, surface, 0);
    surf1DLayeredwrite(surf1DLayeredread<float>(layers, 0, 1), layers, 4, 1);
}

void boxes_and_layers() {
    const auto point = settings(cudaAddressModeClamp, cudaFilterModePoint, false), smooth = settings(cudaAddressModeClamp, cudaFilterModeLinear, false);
    int box[2][2][3], changed[2][2][3] = {};
    float layers[2][2][4], line[4] = {1, 2, 3, 4}, lines[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    for (int i = 0; i < 12; ++i) (&box[0][0][0])[i] = i;
    for (int i = 0; i < 16; ++i) (&layers[0][0][0])[i] = float(i);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), floats = cudaCreateChannelDesc<float>(), pairs = cudaCreateChannelDesc<float2>();
    cudaArray_t array, layered, single, stack;
    DO(cudaMalloc3DArray(&array, &format, make_cudaExtent(3, 2, 2), cudaArraySurfaceLoadStore));
    DO(cudaMalloc3DArray(&layered, &floats, make_cudaExtent(4, 2, 2), cudaArrayLayered | cudaArraySurfaceLoadStore));
    DO(cudaMalloc3DArray(&single, &pairs, make_cudaExtent(2, 0, 0), cudaArraySurfaceLoadStore));
    DO(cudaMalloc3DArray(&stack, &floats, make_cudaExtent(4, 0, 2), cudaArrayLayered | cudaArraySurfaceLoadStore));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(box, 12, 3, 2);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(3, 2, 2);
    copy.kind = cudaMemcpyHostToDevice;
    DO(cudaMemcpy3D(&copy));
    copy.srcPtr = make_cudaPitchedPtr(layers, 16, 4, 2);
    copy.dstArray = layered;
    copy.extent = make_cudaExtent(4, 2, 2);
    DO(cudaMemcpy3DAsync(&copy));
    copy.srcPtr = make_cudaPitchedPtr(lines, 16, 4, 1);
    copy.dstArray = stack;
    copy.extent = make_cudaExtent(4, 1, 2);
    DO(cudaMemcpy3D(&copy));
    DO(cudaMemcpyToArray(single, 0, 0, line, 16, cudaMemcpyHostToDevice));
    expect<int, 3>(__LINE__, texture_of(resource_of(array), point), {{0.5f, 0.5f, 0.5f}, {1.5f, 1.5f, 1.5f}, {9, -9, 9}}, {0, 10, 8});
    expect<float, 2, true>(__LINE__, texture_of(resource_of(layered), smooth), {{1, 1, 0, 0}, {1, 1, 0, 1}, {0.5f, 1.5f, 0, 9}}, {2.5f, 10.5f, 12});
    expect<float, 1, true>(__LINE__, texture_of(resource_of(stack), smooth), {{1, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 0, 7}}, {1.5f, 5.5f, 6.5f});
    cudaSurfaceObject_t surface, second, third, fourth;
    cudaResourceDesc of_box = resource_of(array), of_layers = resource_of(layered), of_line = resource_of(single), of_lines = resource_of(stack);
    DO(cudaCreateSurfaceObject(&surface, &of_box));
    DO(cudaCreateSurfaceObject(&second, &of_layers));
    DO(cudaCreateSurfaceObject(&third, &of_line));
    DO(cudaCreateSurfaceObject(&fourth, &of_lines));
    add_one<<<1, dim3(3, 2, 2)>>>(surface);
    change_layer<<<1, 4>>>(second, 1);
    change_line<<<1, 1>>>(third, fourth);
    copy = {};
    copy.srcArray = array;
    copy.srcPos = make_cudaPos(1, 0, 1);
    copy.dstPtr = make_cudaPitchedPtr(changed, 12, 3, 2);
    copy.dstPos = make_cudaPos(1, 0, 0);
    copy.extent = make_cudaExtent(2, 2, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    DO(cudaMemcpy3D(&copy));
    TRUE(changed[0][0][0] == 0 && changed[0][0][1] == 8 && changed[0][1][2] == 12 && changed[1][0][0] == 0);
    expect<float, 2, true>(__LINE__, texture_of(resource_of(layered), point), {{2.5f, 0.5f, 0, 1}, {2.5f, 0.5f, 0, 0}}, {14, 2});
    DO(cudaMemcpyFromArrayAsync(line, single, 0, 0, 16, cudaMemcpyDeviceToHost));
    DO(cudaDeviceSynchronize());
    TRUE(line[0] == 3 && line[1] == 4 && line[2] == 3);
    expect<float, 1, true>(__LINE__, texture_of(resource_of(stack), point), {{1.5f, 0, 0, 1}}, {5});
    for (cudaSurfaceObject_t object : {surface, second, third, fourth}) DO(cudaDestroySurfaceObject(object));
    // The weights of a three-dimensional filter are halves here.
    float cube[2][2][2] = {{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}};
    cudaArray_t small;
    DO(cudaMalloc3DArray(&small, &floats, make_cudaExtent(2, 2, 2)));
    copy = {};
    copy.srcPtr = make_cudaPitchedPtr(cube, 8, 2, 2);
    copy.dstArray = small;
    copy.extent = make_cudaExtent(2, 2, 2);
    copy.kind = cudaMemcpyHostToDevice;
    DO(cudaMemcpy3D(&copy));
    auto wraps = settings(cudaAddressModeWrap, cudaFilterModeLinear, true);
    expect<float, 3>(__LINE__, texture_of(resource_of(small), wraps), {{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 1}, {0.75f, 0.75f, 0.75f}}, {3.5f, 2, 7});
    for (cudaArray_t one : {array, layered, single, stack, small}) DO(cudaFreeArray(one));
}

void linear_memory() {
    const int numbers[] = {-5, 6, 7, 8};
    int *memory;
    DO(cudaMalloc(&memory, sizeof numbers));
    DO(cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof numbers;
    const cudaTextureDesc usual = {};
    expect<int, 0>(__LINE__, texture_of(resource, usual), {{0, 0, 0, 0}, {0, 0, 0, 3}}, {-5, 8});
    resource.res.linear.desc = cudaCreateChannelDesc<int4>();
    int4 whole = values<int4, 0>(texture_of(resource, usual), {{0, 0, 0, 0}})[0];
    TRUE(whole.x == -5 && whole.w == 8);
    DO(cudaFree(memory));
}

int main() {
    modes_of_addresses_and_filters();
    types<char, signed char, char1, char2, char4, unsigned char, uchar1, uchar2, uchar4, short, short1, short2, short4, unsigned short, ushort2, ushort4>();
    types<int, int1, int2, int4, unsigned, uint1, uint2, uint4, float, float1, float2, float4>();
    normalized_floats();
    pictures();
    boxes_and_layers();
    linear_memory();
    DO(cudaGetLastError());
    printf("%d failures\n", failures);
    return failures;
}
