// Implements CUDA's runtime API (include/emu/runtime_api.h) for programs with host code. The emulator
// finishes the work of a stream before the issuing call returns.

#include <chrono>
#include <cstdlib>

#include "graphs.h"

using emu::Call;
using emu::number_of;
using emu::ProgramDevice;

#define API extern "C" EMU_API

namespace {

ProgramDevice& device() { return ProgramDevice::get(); }
cudaError_t noted(cudaError_t error) { return device().note(error); }
cudaError_t unless(bool wrong, cudaError_t error = cudaErrorInvalidValue) { return noted(wrong ? error : cudaSuccess); }

std::mutex mutex;
// `pinned` contains the allocations of pinned and managed memory, and `registered` contains registered host
// memory. These two maps contain the size in bytes for the address of each allocation.
std::map<void*, size_t> pinned;
std::map<void*, size_t> registered;

// Allocates memory that both the host and kernels can access. The host may write to this memory at any time,
// so all its bytes count as written.
cudaError_t take_shared(void** place, size_t bytes, const Call& call) {
    if (!place) return noted(cudaErrorInvalidValue);
    size_t room = (std::max<size_t>(bytes, 1) + 255) / 256 * 256;
    void* memory = aligned_alloc(256, room);
    if (!memory) return noted(cudaErrorMemoryAllocation);
    memset(memory, 0, room);
    device().machine.buffers.adopt(static_cast<char*>(memory), bytes, 1);
    if (device().machine.watch) device().machine.buffers.set_written(static_cast<char*>(memory), bytes);
    device().remember(memory, call);
    std::lock_guard<std::mutex> lock(mutex);
    pinned[*place = memory] = bytes;
    return noted(cudaSuccess);
}

void wait_for_all() {
    device().count_wait();
    if (auto* streams = device().streams()) streams->host_waits_for_all();
}

}  // namespace

bool emu::shared_free(void* place) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!place || !pinned.erase(place)) return false;
    device().managed.erase(place);
    wait_for_all();
    device().machine.buffers.remove(static_cast<char*>(place));
    free(place);
    return true;
}

struct emu_event {
    std::chrono::steady_clock::time_point at{};
    bool recorded = false, timed = true;
    emu::StreamClock clock;
    cudaGraph_t graph = nullptr;  // the graph into which the event's stream recorded its operations
};

// Runtime functions for the last error and for the names of errors.

API cudaError_t cudaPeekAtLastError() {
    if (emu::current) return static_cast<cudaError_t>(emu::current->last_error);
    device().ask_for_errors();
    return device().sticky != cudaSuccess ? device().sticky : emu::last_error;
}
API cudaError_t cudaGetLastError() {
    cudaError_t error = cudaPeekAtLastError();
    if (emu::current) emu::current->last_error = cudaSuccess;
    else emu::last_error = cudaSuccess;
    return error;
}
#define EMU_CASE(name, number, message) \
    case number: return message;
API const char* cudaGetErrorString(cudaError_t error) {
    switch (error) { EMU_ERRORS(EMU_CASE) }
    return "unrecognized error code";
}
#undef EMU_CASE
#define EMU_CASE(name, number, message) \
    case number: return #name;
API const char* cudaGetErrorName(cudaError_t error) {
    switch (error) { EMU_ERRORS(EMU_CASE) }
    return "unrecognized error code";
}
#undef EMU_CASE

// Runtime functions for devices. The emulator has one device, number 0.

API cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, noted(cudaSuccess); }
API cudaError_t cudaGetDevice(int* number) { return *number = 0, noted(cudaSuccess); }
API cudaError_t cudaSetDevice(int number) { return unless(number != 0, cudaErrorInvalidDevice); }
API cudaError_t cudaChooseDevice(int* number, const cudaDeviceProp*) { return *number = 0, noted(cudaSuccess); }
static unsigned device_flags = cudaDeviceScheduleAuto;
API cudaError_t cudaSetDeviceFlags(unsigned flags) { return device_flags = flags, noted(cudaSuccess); }
API cudaError_t cudaGetDeviceFlags(unsigned* flags) { return *flags = device_flags | cudaDeviceMapHost, noted(cudaSuccess); }
API cudaError_t cudaInitDevice(int number, unsigned, unsigned) { return unless(number != 0, cudaErrorInvalidDevice); }
constexpr char kBus[] = "0000:00:00.0";
API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int number) {
    if (number != 0) return noted(cudaErrorInvalidDevice);
    if (!text || bytes < static_cast<int>(sizeof kBus)) return noted(cudaErrorInvalidValue);
    memcpy(text, kBus, sizeof kBus);
    return noted(cudaSuccess);
}
API cudaError_t cudaDeviceGetByPCIBusId(int* number, const char* text) {
    return *number = 0, unless(strcmp(text, kBus) != 0, cudaErrorInvalidDevice);
}

API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int number) {
    if (number != 0) return noted(cudaErrorInvalidDevice);
    const emu::Limits& limits = device().limits;
    *p = {};
    strcpy(p->name, "bfsbench emulated GPU");
    p->totalGlobalMem = device().memory.total();
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = limits.shared_per_block;
    p->sharedMemPerMultiprocessor = limits.shared_per_multiprocessor;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = emu::kWarpSize;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = static_cast<int>(limits.max_threads_per_block);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = 1980000;
    p->memoryClockRate = 2619000;
    p->memoryBusWidth = 6144;
    p->l2CacheSize = 60 << 20;
    p->totalConstMem = 64 << 10;
    p->major = 9;
    p->textureAlignment = p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
    p->maxTexture1D = p->maxTexture2D[0] = 131072;
    p->maxTexture1DLinear = 1 << 28;
    p->maxTexture2D[1] = 65536;
    p->maxTexture1DLayered[0] = p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
    p->maxTexture1DLayered[1] = p->maxTexture2DLayered[2] = 2048;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    p->deviceOverlap = p->canMapHostMemory = p->concurrentKernels = p->asyncEngineCount = p->unifiedAddressing = 1;
    p->multiProcessorCount = static_cast<int>(limits.multiprocessors);
    p->maxThreadsPerMultiProcessor = static_cast<int>(limits.threads_per_multiprocessor);
    p->maxBlocksPerMultiProcessor = static_cast<int>(limits.blocks_per_multiprocessor);
    p->managedMemory = p->concurrentManagedAccess = p->cooperativeLaunch = p->memoryPoolsSupported = 1;
    p->clusterLaunch = p->hostRegisterSupported = p->unifiedFunctionPointers = 1;
    p->maxSurface1D = p->maxTexture1DMipmap = p->maxTextureCubemap = p->maxSurface2D[0] = 32768;
    p->maxSurface2D[1] = p->maxTexture2DMipmap[0] = p->maxTexture2DMipmap[1] = 32768;
    p->maxSurface3D[0] = p->maxSurface3D[1] = p->maxSurface3D[2] = 16384;
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    return noted(cudaSuccess);
}

API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
    cudaDeviceProp p;
    if (cudaError_t error = cudaGetDeviceProperties(&p, number)) return error;
    auto found = [&](size_t it) { return *value = static_cast<int>(it), noted(cudaSuccess); };
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return found(p.maxThreadsPerBlock);
        case cudaDevAttrMaxBlockDimX: return found(p.maxThreadsDim[0]);
        case cudaDevAttrMaxBlockDimY: return found(p.maxThreadsDim[1]);
        case cudaDevAttrMaxBlockDimZ: return found(p.maxThreadsDim[2]);
        case cudaDevAttrMaxGridDimX: return found(p.maxGridSize[0]);
        case cudaDevAttrMaxGridDimY: return found(p.maxGridSize[1]);
        case cudaDevAttrMaxGridDimZ: return found(p.maxGridSize[2]);
        case cudaDevAttrMaxSharedMemoryPerBlock: return found(p.sharedMemPerBlock);
        case cudaDevAttrTotalConstantMemory: return found(p.totalConstMem);
        case cudaDevAttrWarpSize: return found(p.warpSize);
        case cudaDevAttrMaxPitch: return found(p.memPitch);
        case cudaDevAttrMaxRegistersPerBlock: return found(p.regsPerBlock);
        case cudaDevAttrClockRate: return found(p.clockRate);
        case cudaDevAttrTextureAlignment: return found(p.textureAlignment);
        case cudaDevAttrGpuOverlap: return found(p.deviceOverlap);
        case cudaDevAttrMultiProcessorCount: return found(p.multiProcessorCount);
        case cudaDevAttrKernelExecTimeout: return found(p.kernelExecTimeoutEnabled);
        case cudaDevAttrIntegrated: return found(p.integrated);
        case cudaDevAttrCanMapHostMemory: return found(p.canMapHostMemory);
        case cudaDevAttrComputeMode: return found(p.computeMode);
        case cudaDevAttrConcurrentKernels: return found(p.concurrentKernels);
        case cudaDevAttrEccEnabled: return found(p.ECCEnabled);
        case cudaDevAttrPciBusId: return found(p.pciBusID);
        case cudaDevAttrPciDeviceId: return found(p.pciDeviceID);
        case cudaDevAttrMemoryClockRate: return found(p.memoryClockRate);
        case cudaDevAttrGlobalMemoryBusWidth: return found(p.memoryBusWidth);
        case cudaDevAttrL2CacheSize: return found(p.l2CacheSize);
        case cudaDevAttrMaxThreadsPerMultiProcessor: return found(p.maxThreadsPerMultiProcessor);
        case cudaDevAttrAsyncEngineCount: return found(p.asyncEngineCount);
        case cudaDevAttrUnifiedAddressing: return found(p.unifiedAddressing);
        case cudaDevAttrComputeCapabilityMajor: return found(p.major);
        case cudaDevAttrComputeCapabilityMinor: return found(p.minor);
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return found(p.sharedMemPerMultiprocessor);
        case cudaDevAttrMaxRegistersPerMultiprocessor: return found(p.regsPerMultiprocessor);
        case cudaDevAttrManagedMemory: return found(p.managedMemory);
        case cudaDevAttrHostNativeAtomicSupported: return found(p.hostNativeAtomicSupported);
        case cudaDevAttrPageableMemoryAccess: return found(p.pageableMemoryAccess);
        case cudaDevAttrConcurrentManagedAccess: return found(p.concurrentManagedAccess);
        case cudaDevAttrCooperativeLaunch: return found(p.cooperativeLaunch);
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return found(p.sharedMemPerBlockOptin);
        case cudaDevAttrMaxBlocksPerMultiprocessor: return found(p.maxBlocksPerMultiProcessor);
        case cudaDevAttrMemoryPoolsSupported: return found(p.memoryPoolsSupported);
    }
    return noted(cudaErrorInvalidValue);
}

API cudaError_t cudaDeviceSynchronize() { return wait_for_all(), noted(cudaSuccess); }
API cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return noted(cudaSuccess); }
API cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return noted(cudaSuccess); }
API cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return noted(cudaSuccess); }
API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? emu::StackPool::kBytes : limit == cudaLimitMallocHeapSize ? device().memory.total() : 2048;
    return noted(cudaSuccess);
}
API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, noted(cudaSuccess); }
API cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, noted(cudaSuccess); }
// There is no second device, so no device has a peer.
API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return noted(cudaErrorInvalidDevice); }
API cudaError_t cudaDeviceDisablePeerAccess(int) { return noted(cudaErrorPeerAccessNotEnabled); }
API cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) { return noted(cudaErrorInvalidDevice); }
API cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, noted(cudaSuccess); }
API cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, noted(cudaSuccess); }
API cudaError_t cudaProfilerStart() { return noted(cudaSuccess); }
API cudaError_t cudaProfilerStop() { return noted(cudaSuccess); }

// Runtime functions that allocate, copy, set and free memory.

static cudaError_t take(void** place, size_t bytes, const Call& call) {
    if (!place) return noted(cudaErrorInvalidValue);
    *place = nullptr;
    if (device().sticky != cudaSuccess) return noted(device().sticky);
    if (bytes) *place = device().memory.take(bytes);
    if (*place) device().remember(*place, call);
    return unless(bytes && !*place, cudaErrorMemoryAllocation);
}
API cudaError_t cudaMalloc(void** place, size_t bytes) { return take(place, bytes, Call(__func__, EMU_SITE)); }
// The emulator's CUDA graphs cannot contain allocations, so this call fails on a stream that records a graph.
API cudaError_t cudaMallocAsync(void** place, size_t bytes, cudaStream_t stream) {
    Call call(__func__, EMU_SITE, true, stream);
    return emu::recording(stream) ? noted(cudaErrorStreamCaptureUnsupported) : take(place, bytes, call);
}

// The settings of the device's memory pool, one for each attribute. They have no effect, because the emulator
// always frees memory immediately.
struct emu_pool {
    uint64_t settings[cudaMemPoolAttrReleaseThreshold + 1] = {0, 1, 1, 1, 0};
};
static emu_pool the_pool;

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int number) {
    if (!pool || number != 0) return noted(number ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    return *pool = &the_pool, noted(cudaSuccess);
}
API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int number) { return cudaDeviceGetDefaultMemPool(pool, number); }
API cudaError_t cudaDeviceSetMemPool(int number, cudaMemPool_t pool) { return unless(number != 0 || pool != &the_pool, cudaErrorInvalidValue); }
// Reads or sets an attribute of the memory pool. The release threshold has 64 bits, and all other attributes
// have 32 bits.
static cudaError_t pool_setting(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value, bool is_set) {
    if (pool != &the_pool || !value || attribute < 1 || attribute > cudaMemPoolAttrReleaseThreshold) return noted(cudaErrorInvalidValue);
    size_t bytes = attribute == cudaMemPoolAttrReleaseThreshold ? 8 : 4;
    uint64_t* setting = &pool->settings[attribute];
    memcpy(is_set ? setting : value, is_set ? value : setting, bytes);
    return noted(cudaSuccess);
}
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) { return pool_setting(pool, attribute, value, true); }
API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) { return pool_setting(pool, attribute, value, false); }
API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) { return unless(pool != &the_pool, cudaErrorInvalidValue); }
API cudaError_t cudaMallocFromPoolAsync(void** place, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    Call call(__func__, EMU_SITE, true, stream);
    if (emu::recording(stream)) return noted(cudaErrorStreamCaptureUnsupported);
    return pool == &the_pool ? take(place, bytes, call) : noted(cudaErrorInvalidValue);
}

API cudaError_t cudaMallocHost(void** place, size_t bytes) { return take_shared(place, bytes, Call(__func__, EMU_SITE)); }
API cudaError_t cudaHostAlloc(void** place, size_t bytes, unsigned) { return take_shared(place, bytes, Call(__func__, EMU_SITE)); }
API cudaError_t cudaMallocManaged(void** place, size_t bytes, unsigned) {
    cudaError_t error = take_shared(place, bytes, Call(__func__, EMU_SITE));
    std::lock_guard<std::mutex> lock(mutex);
    if (error == cudaSuccess) device().managed[*place] = bytes;
    return error;
}
API cudaError_t cudaHostRegister(void* place, size_t bytes, unsigned) {
    if (!place || !bytes) return noted(cudaErrorInvalidValue);
    std::lock_guard<std::mutex> lock(mutex);
    if (!registered.emplace(place, bytes).second) return noted(cudaErrorHostMemoryAlreadyRegistered);
    device().machine.buffers.adopt(static_cast<char*>(place), bytes, 1);
    if (device().machine.watch) device().machine.buffers.set_written(static_cast<char*>(place), bytes);
    return noted(cudaSuccess);
}
API cudaError_t cudaHostUnregister(void* place) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!registered.erase(place)) return noted(cudaErrorHostMemoryNotRegistered);
    wait_for_all();
    device().machine.buffers.remove(static_cast<char*>(place));
    return noted(cudaSuccess);
}
API cudaError_t cudaHostGetDevicePointer(void** there, void* host, unsigned) { return *there = host, noted(cudaSuccess); }
API cudaError_t cudaMallocPitch(void** place, size_t* pitch, size_t width, size_t height) {
    constexpr size_t kPitch = 512;
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    return take(place, *pitch * height, Call(__func__, EMU_SITE));
}
API cudaError_t cudaMalloc3D(cudaPitchedPtr* place, cudaExtent extent) {
    place->xsize = extent.width;
    place->ysize = extent.height;
    return cudaMallocPitch(&place->ptr, &place->pitch, extent.width, extent.height * extent.depth);
}
// Returns the result of a call that frees the memory at `place`. If the memory was not freed, reports a bad free and
// returns cudaErrorInvalidValue.
static cudaError_t freed(bool is_freed, const void* place, const Call& call) {
    if (is_freed) return noted(cudaSuccess);
    bool is_inside = device().machine.buffers.at(static_cast<const char*>(place)).second != nullptr;
    bool is_its_memory = is_inside || device().memory.has(place);
    const char* what = is_inside ? "of an address inside of an allocation, or of another kind of memory"
                     : is_its_memory ? "of memory that is not allocated; perhaps it was freed before" : "of memory that CUDA has not allocated";
    device().find("bad free", what, call.from, call.site);
    return noted(cudaErrorInvalidValue);
}
static cudaError_t free_place(void* place, const Call& call) {
    if (!place) return noted(cudaSuccess);
    device().before_free(place, call);
    return freed(device().memory.give_back(place) || emu::shared_free(place), place, call);
}
API cudaError_t cudaFree(void* place) { return free_place(place, Call(__func__, EMU_SITE)); }
API cudaError_t cudaFreeAsync(void* place, cudaStream_t stream) {
    Call call(__func__, EMU_SITE, true, stream);
    return emu::recording(stream) ? noted(cudaErrorStreamCaptureUnsupported) : free_place(place, call);
}
API cudaError_t cudaFreeHost(void* place) { return place ? freed(emu::shared_free(place), place, Call(__func__, EMU_SITE)) : noted(cudaSuccess); }

API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) { return device().copy(to, from, bytes, kind, Call(__func__, EMU_SITE)); }
API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return device().copy(to, from, bytes, kind, Call(__func__, EMU_SITE, true, stream));
}
API cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
    Call call(__func__, EMU_SITE);
    return to_device || from_device ? noted(cudaErrorInvalidDevice) : device().copy(to, from, bytes, cudaMemcpyDeviceToDevice, call);
}
API cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream) {
    Call call(__func__, EMU_SITE, true, stream);
    return to_device || from_device ? noted(cudaErrorInvalidDevice) : device().copy(to, from, bytes, cudaMemcpyDeviceToDevice, call);
}
static cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, const Call& call) {
    if (width > to_pitch || width > from_pitch) {
        device().find("bad copy", std::to_string(width) + " bytes of a row, which is more than the distance between rows", call.from, call.site);
        return noted(cudaErrorInvalidPitchValue);
    }
    for (size_t row = 0; row < height; ++row) {
        auto* source = static_cast<const char*>(from) + row * from_pitch;
        if (cudaError_t error = device().copy(static_cast<char*>(to) + row * to_pitch, source, width, kind, call)) return error;
    }
    return noted(cudaSuccess);
}
API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, Call(__func__, EMU_SITE));
}
API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, Call(__func__, EMU_SITE, true, stream));
}
API cudaError_t cudaMemset(void* to, int value, size_t bytes) { return device().set(to, value, bytes, Call(__func__, EMU_SITE)); }
API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) { return device().set(to, value, bytes, Call(__func__, EMU_SITE, true, stream)); }
static cudaError_t set_rows(void* to, size_t pitch, int value, size_t width, size_t height, const Call& call) {
    if (width > pitch) return noted(cudaErrorInvalidPitchValue);
    for (size_t row = 0; row < height; ++row) {
        if (cudaError_t error = device().set(static_cast<char*>(to) + row * pitch, value, width, call)) return error;
    }
    return noted(cudaSuccess);
}
static cudaError_t set_layers(const cudaPitchedPtr& to, int value, const cudaExtent& extent, const Call& call) {
    for (size_t layer = 0; layer < extent.depth; ++layer) {
        void* begin = static_cast<char*>(to.ptr) + layer * to.pitch * to.ysize;
        if (cudaError_t error = set_rows(begin, to.pitch, value, extent.width, extent.height, call)) return error;
    }
    return noted(cudaSuccess);
}
API cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return set_rows(to, pitch, value, width, height, Call(__func__, EMU_SITE));
}
API cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return set_rows(to, pitch, value, width, height, Call(__func__, EMU_SITE, true, stream));
}
API cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) { return set_layers(to, value, extent, Call(__func__, EMU_SITE)); }
API cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return set_layers(to, value, extent, Call(__func__, EMU_SITE, true, stream));
}
API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = device().memory.total();
    *free = *total - device().memory.used();
    return noted(cudaSuccess);
}
API cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return noted(cudaSuccess); }
API cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return noted(cudaSuccess); }
API cudaError_t cudaMemRangeGetAttribute(void* value, size_t bytes, cudaMemRangeAttribute attribute, const void*, size_t) {
    bool is_wrong = !value || !bytes || bytes % sizeof(int);
    int answer = attribute == cudaMemRangeAttributeReadMostly ? 0 : cudaInvalidDeviceId;
    for (size_t i = 0; !is_wrong && i < bytes / sizeof(int); ++i) static_cast<int*>(value)[i] = answer;
    return unless(is_wrong);
}
API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place) {
    void* pointer = const_cast<void*>(place);
    auto [begin, region] = device().machine.buffers.at(static_cast<const char*>(place));
    bool shared = region != nullptr, is_managed = shared && device().managed.count(const_cast<char*>(begin));
    if (device().memory.has(place)) *attributes = {cudaMemoryTypeDevice, 0, pointer, nullptr};
    else if (shared) *attributes = {is_managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost, 0, pointer, pointer};
    else *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, pointer};
    return noted(cudaSuccess);
}

// Runtime functions for streams and events. The emulator finishes the work of a stream before the issuing
// call returns.

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    auto* streams = device().streams();
    unsigned number = streams ? streams->create(!(flags & cudaStreamNonBlocking)) : emu::Streams::kDefault;
    return *stream = new emu_stream{priority, number, flags}, noted(cudaSuccess);
}
API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
API cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue* value) {
    return noted(value ? cudaSuccess : cudaErrorInvalidValue);
}
API cudaError_t cudaCtxResetPersistingL2Cache() { return noted(cudaSuccess); }
API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (stream <= cudaStreamFireAndForget) return noted(cudaSuccess);
    if (cudaGraph_t graph = emu::recording(stream)) graph->streams.remove(stream);
    if (auto* streams = device().streams()) streams->destroy(stream->number);
    delete stream;
    return noted(cudaSuccess);
}
API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return *priority = stream > cudaStreamFireAndForget ? stream->priority : 0, noted(cudaSuccess);
}
API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return *flags = stream > cudaStreamFireAndForget ? stream->flags : cudaStreamDefault, noted(cudaSuccess);
}
// The host has learned that the earlier work of a stream has ended. The function records this for the
// race detector. It fails if a graph records the stream.
static cudaError_t take_up(cudaStream_t stream) {
    if (emu::recording(stream)) return noted(cudaErrorStreamCaptureUnsupported);
    if (auto* streams = device().streams()) streams->host_waits_for(number_of(stream));
    return noted(cudaSuccess);
}
API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    device().count_wait();
    return take_up(stream);
}
API cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (event && event->graph && !event->graph->streams.empty()) return emu::join(event->graph, stream), noted(cudaSuccess);
    auto* streams = device().streams();
    if (streams && event) streams->wait(number_of(stream), event->clock);
    return noted(cudaSuccess);
}
// Calls the host's function immediately. The host can tell from this call that all earlier work of the stream
// has ended. So the emulator records that the host has waited for this work.
API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
    if (cudaError_t error = take_up(stream)) return error;
    call(stream, device().sticky, data);
    return noted(cudaSuccess);
}
API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
    if (cudaGraph_t graph = emu::recording(stream)) {
        return emu::record(graph, cudaGraphNodeTypeHost, [=](cudaStream_t of) { return cudaLaunchHostFunc(of, call, data); });
    }
    take_up(stream);
    return call(data), noted(cudaSuccess);
}
API cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return noted(cudaSuccess); }
API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    *event = new emu_event;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    return noted(cudaSuccess);
}
API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!event) return noted(cudaErrorInvalidResourceHandle);
    if ((event->graph = emu::recording(stream))) return noted(cudaSuccess);
    event->at = std::chrono::steady_clock::now();
    event->recorded = true;
    if (auto* streams = device().streams()) event->clock = streams->record(number_of(stream));
    return noted(cudaSuccess);
}
API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    auto* streams = device().streams();
    if (event) device().count_wait();
    if (streams && event) streams->host_waits(event->clock);
    return unless(!event, cudaErrorInvalidResourceHandle);
}
API cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    bool usable = begin && end && begin->recorded && end->recorded && begin->timed && end->timed;
    if (!usable) return noted(cudaErrorInvalidResourceHandle);
    cudaEventSynchronize(begin);
    cudaEventSynchronize(end);
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return noted(cudaSuccess);
}
API cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, noted(cudaSuccess); }
