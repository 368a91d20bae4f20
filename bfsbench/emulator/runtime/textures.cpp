// CUDA arrays, textures and surfaces of programs with host code (include/emu/texture_api.h, texture.h and
// texture_reference.h). The texels of an array lie in one allocation of device memory, one row after another
// without gaps. So the checks of device memory also cover arrays.

#include "emu/texture_reference.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "program.h"
#include "worker.h"

#define TEXTURE_API extern "C" EMU_API

namespace {

// Texels in device memory. `size` holds the number of texels in a row, the number of rows, and the number of
// layers or slices.
struct Image {
    char* data;
    cudaChannelFormatDesc format;
    size_t size[3], pitch;
    unsigned dimensions;
    bool layered;

    size_t texel() const { return static_cast<size_t>(format.x + format.y + format.z + format.w) / 8; }
    unsigned components() const { return format.w ? 4 : format.y ? 2 : 1; }
    char* row(size_t y, size_t z) const { return data + (z * size[1] + y) * pitch; }
};

// A texture object or a surface object. A destroyed object stays in memory, so that the emulator can report
// kernels that still use it.
struct Object {
    enum Kind { destroyed, texture, linear_texture, surface } kind;
    Image image;
    cudaTextureDesc how;
    char names[3][48];  // describe each dimension in messages about an index outside of it
};

std::mutex images_mutex;
std::set<const void*> alive;  // arrays, textures and surfaces

bool is_alive(const void* handle) {
    std::lock_guard<std::mutex> lock(images_mutex);
    return alive.count(handle) != 0;
}
void set_alive(const void* handle) {
    std::lock_guard<std::mutex> lock(images_mutex);
    alive.insert(handle);
}
bool end_life(const void* handle) {
    std::lock_guard<std::mutex> lock(images_mutex);
    return alive.erase(handle) != 0;
}

bool is_supported(const cudaChannelFormatDesc& format) {
    bool size_fits = format.f == cudaChannelFormatKindFloat ? format.x == 32 : format.x == 8 || format.x == 16 || format.x == 32;
    bool count_fits = (format.y == format.x || !format.y) && format.z == format.w && (format.w == format.y || !format.w);
    return size_fits && count_fits && static_cast<unsigned>(format.f) < cudaChannelFormatKindNone;
}

}  // namespace

struct cudaArray : Image {};

namespace {

// CUDA requires that a texture's first address is a multiple of kTextureAlignment, and that the distance
// between its rows is a multiple of kPitchAlignment. The emulator treats the beginning of each buffer as
// aligned.
constexpr ptrdiff_t kTextureAlignment = 512;
constexpr size_t kPitchAlignment = 32;

emu::ProgramDevice& its_device() { return emu::ProgramDevice::get(); }
cudaError_t refused(cudaError_t error = cudaErrorInvalidValue) { return its_device().note(error); }
cudaError_t done() { return its_device().note(cudaSuccess); }

cudaError_t make_array(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags, const emu::Call& call) {
    if (!array || !format || !extent.width || flags & ~(cudaArrayLayered | cudaArraySurfaceLoadStore)) return refused();
    if (!is_supported(*format)) return refused(cudaErrorInvalidChannelDescriptor);
    bool layered = flags & cudaArrayLayered;
    unsigned dimensions = extent.height ? extent.depth && !layered ? 3 : 2 : 1;
    // The largest sizes of CUDA arrays with one, two and three dimensions, from the CUDA programming guide
    // for compute capability 9.0.
    constexpr size_t kMost[][3] = {{131072, 0, 0}, {131072, 65536, 0}, {16384, 16384, 16384}};
    constexpr size_t kMostLayered[][3] = {{32768, 0, 2048}, {32768, 32768, 2048}};
    const size_t(&most)[3] = layered ? kMostLayered[dimensions - 1] : kMost[dimensions - 1];
    if (extent.width > most[0] || extent.height > most[1] || extent.depth > most[2] || (layered && !extent.depth)) return refused();
    Image image{nullptr, *format, {extent.width, std::max<size_t>(extent.height, 1), std::max<size_t>(extent.depth, 1)}, 0, dimensions, layered};
    image.pitch = extent.width * image.texel();
    void* place = nullptr;
    if (cudaError_t error = cudaMalloc(&place, image.pitch * image.size[1] * image.size[2])) return error;
    its_device().remember(place, call);
    image.data = static_cast<char*>(place);
    set_alive(*array = new cudaArray{image});
    return done();
}

// The source or the target of a copy: its first byte, the distance in bytes between its rows, and the
// distance in bytes between its slices.
struct Side {
    char* begin;
    size_t pitch, slice;
};

// Copies a box of rows between two places in memory. The width of the box is in bytes.
cudaError_t copy_box(Side to, Side from, cudaExtent box, cudaMemcpyKind kind, const emu::Call& call) {
    if (!to.begin || !from.begin) return refused();
    if (box.height > 1 && (box.width > to.pitch || box.width > from.pitch)) return refused(cudaErrorInvalidPitchValue);
    for (size_t z = 0; z < box.depth; ++z) {
        for (size_t y = 0; y < box.height; ++y) {
            const char* source = from.begin + z * from.slice + y * from.pitch;
            if (cudaError_t error = its_device().copy(to.begin + z * to.slice + y * to.pitch, source, box.width, kind, call)) return error;
        }
    }
    return done();
}

// Returns the addresses of a box of texels in an array, as the source or the target of a copy. `at.x` and the
// box's width are in bytes. If `wraps` is true, a box of one row may continue in the next rows. The `begin`
// of the result is null if the array does not exist or the box reaches outside of it.
Side part_of(cudaArray_const_t array, cudaPos at, cudaExtent box, const emu::Call& call, bool wraps = false) {
    if (!is_alive(array)) return {};
    size_t slice = array->pitch * array->size[1];
    bool inside = wraps ? at.y * array->pitch + at.x + box.width <= slice : at.x + box.width <= array->pitch && at.y + box.height <= array->size[1];
    if (inside && at.z + box.depth <= array->size[2]) return {array->row(at.y, at.z) + at.x, array->pitch, slice};
    its_device().find("bad copy", "a part that reaches outside of an array", call.from, call.site);
    return {};
}
Side rows_at(const void* begin, size_t pitch) { return {static_cast<char*>(const_cast<void*>(begin)), pitch, 0}; }

cudaError_t copy_3d(const cudaMemcpy3DParms* p, const emu::Call& call) {
    if (!p || (p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr)) return refused();
    cudaArray_const_t array = p->srcArray ? p->srcArray : p->dstArray;
    if ((p->srcArray && !is_alive(p->srcArray)) || (p->dstArray && !is_alive(p->dstArray))) return refused();
    size_t texel = array ? array->texel() : 1;
    if (p->dstArray && p->dstArray->texel() != texel) return refused();
    cudaExtent box{p->extent.width * texel, p->extent.height, p->extent.depth};
    auto side = [&](cudaArray_const_t of, const cudaPitchedPtr& rows, const cudaPos& at) -> Side {
        if (of) return part_of(of, {at.x * texel, at.y, at.z}, box, call);
        if (box.depth > 1 && at.y + box.height > rows.ysize) return {};
        size_t slice = rows.pitch * rows.ysize;
        return {static_cast<char*>(rows.ptr) + at.z * slice + at.y * rows.pitch + at.x * texel, rows.pitch, slice};
    };
    Side from = side(p->srcArray, p->srcPtr, p->srcPos);
    return copy_box(side(p->dstArray, p->dstPtr, p->dstPos), from, box, p->kind, call);
}

// Makes `image` refer to the texels that a resource describes. Returns false if the resource is not valid.
bool open_image(Image& image, const cudaResourceDesc& resource) {
    const auto& [array, linear, pitched] = std::tie(resource.res.array, resource.res.linear, resource.res.pitch2D);
    if (resource.resType == cudaResourceTypeArray) return is_alive(array.array) && (image = *array.array, true);
    bool is_linear = resource.resType == cudaResourceTypeLinear;
    if (!is_linear && resource.resType != cudaResourceTypePitch2D) return false;
    image = {static_cast<char*>(linear.devPtr), linear.desc, {0, 1, 1}, 0, is_linear ? 1u : 2u, false};
    if (!image.data || !is_supported(image.format)) return false;
    image.size[0] = is_linear ? linear.sizeInBytes / image.texel() : pitched.width;
    image.size[1] = is_linear ? 1 : pitched.height;
    image.pitch = is_linear ? linear.sizeInBytes : pitched.pitchInBytes;
    const char* buffer = its_device().machine.buffers.at(image.data).first;
    bool aligned = (image.data - buffer) % kTextureAlignment == 0 && (is_linear || image.pitch % kPitchAlignment == 0);
    return aligned && image.size[0] && image.size[1] && image.size[0] * image.texel() <= image.pitch;
}

void make_object(unsigned long long* handle, Object::Kind kind, const Image& image, const cudaTextureDesc& how) {
    auto* object = new Object{kind, image, how, {}};
    if (kind == Object::surface) snprintf(object->names[0], sizeof *object->names, "surface with rows of %zu bytes", image.pitch);
    else snprintf(object->names[0], sizeof *object->names, "texture of %zu texels", image.size[0]);
    snprintf(object->names[1], sizeof *object->names, "surface of %zu rows", image.size[1]);
    snprintf(object->names[2], sizeof *object->names, "surface of %zu %s", image.size[2], image.layered ? "layers" : "slices");
    set_alive(object);
    *handle = reinterpret_cast<uintptr_t>(object);
}

cudaError_t destroy_object(unsigned long long handle) {
    auto* object = reinterpret_cast<Object*>(handle);
    if (!end_life(object)) return handle ? refused() : done();
    object->kind = Object::destroyed;
    return done();
}

// Returns the texture or surface object of a handle that a kernel passes to the function `by`. Ends the
// kernel if the object does not fit this function.
const Object& object_of(unsigned long long handle, emu::Accessor by, Object::Kind kind) {
    auto* object = reinterpret_cast<const Object*>(handle);
    constexpr const char* kKinds[] = {"destroyed", "a texture of an array or of rows", "a texture of linear memory", "a surface"};
    if (!object) emu::fail("%s: there is no object", by.name);
    if (object->kind != kind) emu::fail("%s: the object is %s", by.name, kKinds[object->kind]);
    const Image& image = object->image;
    // The test is >= instead of ==, because tex1D may also read a two-dimensional array that has only one
    // row.
    bool fits = image.dimensions >= by.dimensions && image.layered == by.layered;
    for (unsigned d = by.dimensions; d < (by.layered ? 2 : 3); ++d) fits &= image.size[d] == 1;
    if (!fits) emu::fail("%s: the object has %u dimensions%s", by.name, image.dimensions, image.layered ? " and layers" : "");
    return *object;
}

// A component of a texel.
union Value {
    uint32_t bits;
    int32_t number;
    float real;
};

// Reads texels of one texture, and converts them to values of type `wanted`.
class Texels {
  public:
    Texels(const Object& object, const char* function, emu::Wanted wanted, const void* site)
        : image_(object.image), how_(object.how), wanted_(wanted), site_(site), bits_(static_cast<unsigned>(image_.format.x)) {
        const cudaChannelFormatDesc& format = image_.format;
        normalizes_ = format.f != cudaChannelFormatKindFloat && bits_ < 32 && how_.readMode == cudaReadModeNormalizedFloat;
        bool gives_float = normalizes_ || format.f == cudaChannelFormatKindFloat;
        bool is_float = wanted.kind == cudaChannelFormatKindFloat;
        bool fits = is_float || wanted.bits == bits_ || (wanted.bits > bits_ && wanted.kind == format.f);
        if (gives_float == is_float && fits && wanted.count <= image_.components()) return;
        emu::fail("%s: the texture holds texels of another type", function);
    }

    // Reads the texel with the indices `at`, one index per dimension. Stores its components in `value`.
    void read(const size_t (&at)[3], Value (&value)[4]) const {
        const char* place = image_.row(at[1], at[2]) + at[0] * image_.texel();
        emu::read_only(place, image_.texel(), site_);
        emu::watch(place, image_.texel(), emu::Act::read, emu::Scope::none, site_);
        for (unsigned i = 0; i < wanted_.count; ++i) value[i] = component(place + i * bits_ / 8);
    }
    // Reads a texel whose index may be outside of the texture. In this case the address mode of each
    // dimension decides which texel is read instead, or whether the border colour is read.
    void read_or_border(const int64_t (&index)[3], unsigned dimensions, Value (&value)[4]) const {
        size_t at[3] = {0, 0, static_cast<size_t>(index[2])};
        for (unsigned d = 0; d < dimensions; ++d) {
            auto size = static_cast<int64_t>(image_.size[d]);
            int64_t i = index[d], round = (i % (2 * size) + 2 * size) % (2 * size);
            cudaTextureAddressMode mode = mode_of(d);
            if (mode == cudaAddressModeBorder && (i < 0 || i >= size)) return void(memcpy(value, how_.borderColor, sizeof value));
            if (mode == cudaAddressModeWrap) i = round % size;
            if (mode == cudaAddressModeMirror) i = round < size ? round : 2 * size - 1 - round;
            at[d] = static_cast<size_t>(std::clamp<int64_t>(i, 0, size - 1));
        }
        read(at, value);
    }
    void store(const Value (&value)[4], void* place) const {
        for (unsigned i = 0; i < wanted_.count; ++i) memcpy(static_cast<char*>(place) + i * wanted_.bits / 8, &value[i], wanted_.bits / 8);
    }

  private:
    // If coordinates are not normalised, CUDA uses the clamp mode instead of the wrap and mirror modes.
    cudaTextureAddressMode mode_of(unsigned dimension) const {
        cudaTextureAddressMode mode = how_.addressMode[dimension];
        return how_.normalizedCoords || mode == cudaAddressModeBorder ? mode : cudaAddressModeClamp;
    }
    Value component(const char* place) const {
        Value value{0};
        memcpy(&value, place, bits_ / 8);
        bool is_signed = image_.format.f == cudaChannelFormatKindSigned;
        if (is_signed) value.number = static_cast<int32_t>(value.bits << (32 - bits_)) >> (32 - bits_);
        if (!normalizes_) return value;
        if (is_signed) value.real = std::max(static_cast<float>(value.number) / static_cast<float>((1u << (bits_ - 1)) - 1), -1.0f);
        else value.real = static_cast<float>(value.bits) / static_cast<float>((1u << bits_) - 1);
        return value;
    }

    const Image& image_;
    const cudaTextureDesc& how_;
    emu::Wanted wanted_;
    const void* site_;
    unsigned bits_;  // size of a component in memory
    bool normalizes_;
};

}  // namespace

void emu::read_texture(cudaTextureObject_t texture, Accessor by, const float (&at)[3], int layer, Wanted type, void* value, const void* site) {
    const Object& object = object_of(texture, by, Object::texture);
    const Image& image = object.image;
    Texels texels(object, by.name, type, site);
    bool filters = object.how.filterMode == cudaFilterModeLinear;
    // A GPU executes tex1D as a read of a texture with one row at y = 0. With a linear filter, the border
    // above this row therefore has half of the weight.
    unsigned dimensions = by.dimensions == 1 && !by.layered ? 2 : by.dimensions;
    int64_t first[3] = {0, 0, 0};
    float weights[3] = {};
    // PTX takes the layer as an unsigned number, so a negative layer selects the last layer.
    if (by.layered) first[2] = static_cast<int64_t>(std::min<size_t>(static_cast<unsigned>(layer), image.size[2] - 1));
    for (unsigned d = 0; d < dimensions; ++d) {
        constexpr float kFar = 0x1p60f;  // NaN becomes -kFar
        float place = object.how.normalizedCoords ? at[d] * static_cast<float>(image.size[d]) : at[d];
        place = place > -kFar ? std::min(place, kFar) : -kFar;
        if (filters) place -= 0.5f;
        first[d] = static_cast<int64_t>(std::floor(place));
        // A GPU stores the weight as a fixed-point number with eight fraction bits.
        if (filters) weights[d] = std::nearbyint((place - std::floor(place)) * 256) / 256;
    }
    Value read[4] = {}, sums[4] = {};
    if (!filters) return texels.read_or_border(first, dimensions, read), texels.store(read, value);
    for (unsigned corner = 0; corner < 1u << dimensions; ++corner) {
        int64_t index[3] = {first[0], first[1], first[2]};
        float weight = 1;
        for (unsigned d = 0; d < dimensions; ++d) {
            bool second = corner >> d & 1;
            index[d] += second;
            weight *= second ? weights[d] : 1 - weights[d];
        }
        if (weight == 0) continue;
        texels.read_or_border(index, dimensions, read);
        for (unsigned i = 0; i < type.count; ++i) sums[i].real += weight * read[i].real;
    }
    texels.store(sums, value);
}

void emu::read_linear(cudaTextureObject_t texture, int index, Wanted type, void* value, const void* site) {
    const Object& object = object_of(texture, {"tex1Dfetch", 1, false}, Object::linear_texture);
    Texels texels(object, "tex1Dfetch", type, site);
    Value read[4] = {};
    bool inside = index >= 0 && static_cast<size_t>(index) < object.image.size[0];
    if (inside) texels.read({static_cast<size_t>(index), 0, 0}, read);
    // CUDA does not define the value at an index outside of the texture. GPUs return zero.
    else if (watching) refuse_index(object.names[0], index, site);
    texels.store(read, value);
}

void emu::access_surface(cudaSurfaceObject_t surface, Accessor by, const int (&at)[3], cudaSurfaceBoundaryMode mode, Act act, void* value, size_t bytes, const void* site) {
    const Object& object = object_of(surface, by, Object::surface);
    const Image& image = object.image;
    if (act == Act::read) memset(value, 0, bytes);
    size_t place[3];
    for (unsigned d = 0; d < 3; ++d) {
        int64_t last = d ? static_cast<int64_t>(image.size[d]) - 1 : static_cast<int64_t>(image.pitch) - static_cast<int64_t>(bytes);
        bool outside = at[d] < 0 || at[d] > last;
        if (outside && mode == cudaBoundaryModeZero) return;
        if (outside && (mode == cudaBoundaryModeTrap || last < 0)) refuse_index(object.names[d], at[d], site, act);
        place[d] = static_cast<size_t>(std::clamp<int64_t>(at[d], 0, last));
    }
    char* texel = image.row(place[1], place[2]) + place[0];
    if (place[0] % bytes) refuse_misaligned(texel, bytes, act, site);
    if (act == Act::read) read_only(texel, bytes, site);
    watch(texel, bytes, act, Scope::none, site);
    memcpy(act == Act::read ? value : texel, act == Act::read ? texel : value, bytes);
}

TEXTURE_API cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height, unsigned flags) {
    return make_array(array, format, {width, height, 0}, flags, emu::Call(__func__, EMU_SITE));
}
TEXTURE_API cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned flags) {
    return make_array(array, format, extent, flags, emu::Call(__func__, EMU_SITE));
}
TEXTURE_API cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return done();
    if (!end_life(array)) return refused();
    cudaError_t error = cudaFree(array->data);
    delete array;
    return error;
}
TEXTURE_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
    return is_alive(array) ? (*format = array->format, done()) : refused();
}
TEXTURE_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) { return {x, y, z, w, kind}; }

// EMU_COPY defines a copy function and its asynchronous form. The asynchronous form takes a stream, and its
// name ends in Async. EMU_LIST removes the parentheses around the list of parameters.
#define EMU_LIST(...) __VA_ARGS__
#define EMU_COPY(name, parameters, copied)                                                   \
    TEXTURE_API cudaError_t name(EMU_LIST parameters) {                                      \
        emu::Call call(__func__, EMU_SITE);                                                  \
        return copied;                                                                       \
    }                                                                                        \
    TEXTURE_API cudaError_t name##Async(EMU_LIST parameters, cudaStream_t stream) {          \
        emu::Call call(__func__, EMU_SITE, true, stream);                                    \
        return copied;                                                                       \
    }
EMU_COPY(cudaMemcpyToArray, (cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind),
         copy_box(part_of(to, {x, y, 0}, {bytes, 1, 1}, call, true), rows_at(from, 0), {bytes, 1, 1}, kind, call))
EMU_COPY(cudaMemcpyFromArray, (void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind),
         copy_box(rows_at(to, 0), part_of(from, {x, y, 0}, {bytes, 1, 1}, call, true), {bytes, 1, 1}, kind, call))
EMU_COPY(cudaMemcpy2DToArray, (cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind),
         copy_box(part_of(to, {x, y, 0}, {width, height, 1}, call), rows_at(from, pitch), {width, height, 1}, kind, call))
EMU_COPY(cudaMemcpy2DFromArray, (void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind),
         copy_box(rows_at(to, pitch), part_of(from, {x, y, 0}, {width, height, 1}, call), {width, height, 1}, kind, call))
EMU_COPY(cudaMemcpy3D, (const cudaMemcpy3DParms* parameters), copy_3d(parameters, call))
#undef EMU_COPY
#undef EMU_LIST
TEXTURE_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y, size_t width, size_t height, cudaMemcpyKind kind) {
    emu::Call call(__func__, EMU_SITE);
    cudaExtent box{width, height, 1};
    return copy_box(part_of(to, {to_x, to_y, 0}, box, call), part_of(from, {from_x, from_y, 0}, box, call), box, kind, call);
}

TEXTURE_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource, const cudaTextureDesc* how, const cudaResourceViewDesc* view) {
    Image image;
    if (!texture || !resource || !how || view || !open_image(image, *resource)) return refused();
    bool is_linear = resource->resType == cudaResourceTypeLinear;
    bool gives_float = image.format.f == cudaChannelFormatKindFloat || (image.format.x < 32 && how->readMode == cudaReadModeNormalizedFloat);
    if (!is_linear && how->filterMode == cudaFilterModeLinear && !gives_float) return refused(cudaErrorInvalidFilterSetting);
    make_object(texture, is_linear ? Object::linear_texture : Object::texture, image, *how);
    return done();
}
TEXTURE_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) { return destroy_object(texture); }
TEXTURE_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
    if (!surface || !resource || resource->resType != cudaResourceTypeArray) return refused();
    cudaArray_const_t array = resource->res.array.array;
    if (!is_alive(array)) return refused();
    make_object(surface, Object::surface, *array, {});
    return done();
}
TEXTURE_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { return destroy_object(surface); }

cudaError_t emu::bind(const textureReference& reference, cudaResourceDesc resource, size_t* offset) {
    cudaTextureDesc how = {};
    std::copy_n(reference.addressMode, 3, how.addressMode);
    how.filterMode = reference.filterMode;
    how.readMode = reference.emu_read_mode;
    how.normalizedCoords = reference.normalized;
    if (resource.resType != cudaResourceTypeArray) {
        auto& [place, format, bytes] = resource.res.linear;  // `devPtr` and `desc` of `pitch2D` have equal positions
        const auto [buffer, region] = its_device().machine.buffers.at(static_cast<char*>(place));
        if (!region) return refused();
        auto before = static_cast<size_t>(static_cast<char*>(place) - buffer), past = before % kTextureAlignment;
        if (offset) *offset = past;
        else if (past) return refused();
        place = static_cast<char*>(place) - past;
        // Programs may omit the size of the texture's buffer, or pass a size that is too large. So the
        // texture ends at the end of the buffer at the latest.
        if (resource.resType == cudaResourceTypeLinear) bytes = std::min(bytes + past, region->bytes - before + past);
    }
    if (cudaError_t error = cudaUnbindTexture(reference)) return error;
    return cudaCreateTextureObject(&reference.emu_object, &resource, &how, nullptr);
}
cudaError_t cudaUnbindTexture(const textureReference& reference) { return cudaDestroyTextureObject(std::exchange(reference.emu_object, 0)); }
