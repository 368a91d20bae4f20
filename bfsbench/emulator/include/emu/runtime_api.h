// CUDA's runtime API for programs that `bfsbench nvcc` builds. runtime/runtime_api.cpp and
// runtime/program.cpp define the functions. A program that calls a runtime function without a declaration in
// runtime_api.h does not compile.
#pragma once

#include <cstddef>
#include <cstring>

#include "emu/call_site.h"
#include "emu/errors.h"
#include "emu/types.h"

// The structures below have members called gridDim and blockDim. So the macros with these names are
// undefined here, and restored at the end of this file.
#pragma push_macro("gridDim")
#pragma push_macro("blockDim")
#undef gridDim
#undef blockDim

#define CUDART_VERSION 12090
#define CUDA_VERSION 12090
// Defines the include guards of CUDA's headers, because NVIDIA's sample programs test them.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define CUDART_CB
#define CUDARTAPI
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_SQRT_HALF_HI 7.0710678118654757e-1
#define EMU_C extern "C" __attribute__((visibility("default")))

using cudaEvent_t = struct emu_event*;
using cudaMemPool_t = struct emu_pool*;
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void*);
using cudaHostFn_t = void (*)(void*);
using CUdeviceptr = unsigned long long;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 13
};
enum cudaSharedCarveout { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy
};
enum cudaLimit {
    cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitDevRuntimeSyncDepth,
    cudaLimitDevRuntimePendingLaunchCount, cudaLimitMaxL2FetchGranularity, cudaLimitPersistingL2CacheSize
};
enum cudaDeviceP2PAttr {
    cudaDevP2PAttrPerformanceRank = 1, cudaDevP2PAttrAccessSupported, cudaDevP2PAttrNativeAtomicSupported,
    cudaDevP2PAttrCudaArrayAccessSupported
};
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1, cudaMemPoolReuseAllowOpportunistic, cudaMemPoolReuseAllowInternalDependencies,
    cudaMemPoolAttrReleaseThreshold
};
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost };
struct cudaMemLocation { cudaMemLocationType type; int id; };
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited, cudaComputeModeExclusiveProcess };

#define cudaHostAllocDefault 0u
#define cudaHostAllocPortable 1u
#define cudaHostAllocMapped 2u
#define cudaHostAllocWriteCombined 4u
#define cudaHostRegisterDefault 0u
#define cudaHostRegisterPortable 1u
#define cudaHostRegisterMapped 2u
#define cudaHostRegisterReadOnly 8u
#define cudaMemAttachGlobal 1u
#define cudaMemAttachHost 2u
#define cudaMemAttachSingle 4u
#define cudaStreamDefault 0u
#define cudaStreamNonBlocking 1u
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(2))
#define cudaEventDefault 0u
#define cudaEventBlockingSync 1u
#define cudaEventDisableTiming 2u
#define cudaEventInterprocess 4u
#define cudaEventRecordDefault 0u
#define cudaEventWaitDefault 0u
#define cudaDeviceScheduleAuto 0u
#define cudaDeviceScheduleSpin 1u
#define cudaDeviceScheduleYield 2u
#define cudaDeviceScheduleBlockingSync 4u
#define cudaDeviceBlockingSync 4u
#define cudaDeviceMapHost 8u
#define cudaDeviceLmemResizeToMax 16u
#define cudaOccupancyDefault 0u
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)

struct cudaUUID_t { char bytes[16]; };
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment, surfaceAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DLinear, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3];
    int concurrentKernels, ECCEnabled;
    int pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing, memoryClockRate;
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int memoryPoolsSupported;
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxTexture1DMipmap, maxTexture2DMipmap[2], maxTextureCubemap;
    int sparseCudaArraySupported, hostRegisterSupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported;
    int gpuDirectRDMASupported, gpuDirectRDMAWritesOrdering, clusterLaunch, deferredMappingCudaArraySupported;
    int ipcEventSupported, unifiedFunctionPointers;
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ,
    cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ, cudaDevAttrMaxSharedMemoryPerBlock,
    cudaDevAttrTotalConstantMemory, cudaDevAttrWarpSize, cudaDevAttrMaxPitch, cudaDevAttrMaxRegistersPerBlock,
    cudaDevAttrClockRate, cudaDevAttrTextureAlignment, cudaDevAttrGpuOverlap, cudaDevAttrMultiProcessorCount,
    cudaDevAttrKernelExecTimeout, cudaDevAttrIntegrated, cudaDevAttrCanMapHostMemory, cudaDevAttrComputeMode,
    cudaDevAttrConcurrentKernels = 31, cudaDevAttrEccEnabled = 32, cudaDevAttrPciBusId = 33, cudaDevAttrPciDeviceId = 34,
    cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth = 37, cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrAsyncEngineCount = 40, cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75, cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrManagedMemory = 83, cudaDevAttrHostNativeAtomicSupported = 86, cudaDevAttrPageableMemoryAccess = 88, cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrMemoryPoolsSupported = 115
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* p, size_t pitch, size_t x, size_t y) { return {p, pitch, x, y}; }

// Runtime functions for errors. Each CUDA thread of a kernel has its own last error.
EMU_C cudaError_t cudaGetLastError();
EMU_C cudaError_t cudaPeekAtLastError();
EMU_C const char* cudaGetErrorString(cudaError_t error);
EMU_C const char* cudaGetErrorName(cudaError_t error);

// Runtime functions for devices. The emulator has one device, number 0.
EMU_C cudaError_t cudaGetDeviceCount(int* count);
EMU_C cudaError_t cudaGetDevice(int* device);
EMU_C cudaError_t cudaSetDevice(int device);
EMU_C cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted);
EMU_C cudaError_t cudaSetDeviceFlags(unsigned flags);
EMU_C cudaError_t cudaGetDeviceFlags(unsigned* flags);
EMU_C cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
EMU_C cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device);
EMU_C cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text);
EMU_C cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
EMU_C cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
EMU_C cudaError_t cudaDeviceSynchronize();
EMU_C cudaError_t cudaDeviceReset();
EMU_C cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cache);
EMU_C cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
EMU_C cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
EMU_C cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
EMU_C cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
EMU_C cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
EMU_C cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
EMU_C cudaError_t cudaDeviceDisablePeerAccess(int peer);
EMU_C cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer);
// Defines macros that headers of cuRAND use.
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
enum libraryPropertyType { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };
EMU_C cudaError_t cudaRuntimeGetVersion(int* version);
EMU_C cudaError_t cudaDriverGetVersion(int* version);
EMU_C cudaError_t cudaProfilerStart();
EMU_C cudaError_t cudaProfilerStop();
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

// Runtime functions that allocate, copy, set and free memory.
EMU_C cudaError_t cudaMalloc(void** place, size_t bytes);
EMU_C cudaError_t cudaMallocHost(void** place, size_t bytes);
EMU_C cudaError_t cudaHostAlloc(void** place, size_t bytes, unsigned flags);
EMU_C cudaError_t cudaHostRegister(void* place, size_t bytes, unsigned flags);
EMU_C cudaError_t cudaHostUnregister(void* place);
EMU_C cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
EMU_C cudaError_t cudaMallocManaged(void** place, size_t bytes, unsigned flags);
EMU_C cudaError_t cudaMallocPitch(void** place, size_t* pitch, size_t width, size_t height);
EMU_C cudaError_t cudaMalloc3D(cudaPitchedPtr* place, cudaExtent extent);
EMU_C cudaError_t cudaMallocAsync(void** place, size_t bytes, cudaStream_t stream);
EMU_C cudaError_t cudaFree(void* place);
EMU_C cudaError_t cudaFreeAsync(void* place, cudaStream_t stream);
EMU_C cudaError_t cudaFreeHost(void* place);
EMU_C cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind);
EMU_C cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes);
EMU_C cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemset(void* to, int value, size_t bytes);
EMU_C cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height);
EMU_C cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent);
EMU_C cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
EMU_C cudaError_t cudaMemPrefetchAsync(const void* place, size_t bytes, int device, cudaStream_t stream = nullptr);
// The attributes of managed memory. The emulator ignores cudaMemAdvise, so it always answers that no
// advice has been given.
enum cudaMemRangeAttribute {
    cudaMemRangeAttributeReadMostly = 1, cudaMemRangeAttributePreferredLocation, cudaMemRangeAttributeAccessedBy,
    cudaMemRangeAttributeLastPrefetchLocation
};
EMU_C cudaError_t cudaMemRangeGetAttribute(void* value, size_t bytes, cudaMemRangeAttribute attribute, const void* place, size_t range);
EMU_C cudaError_t cudaMemAdvise(const void* place, size_t bytes, cudaMemoryAdvise advice, int device);
// In CUDA 13, cudaMemPrefetchAsync and cudaMemAdvise take a cudaMemLocation instead of a device number.
inline cudaError_t cudaMemPrefetchAsync(const void* place, size_t bytes, cudaMemLocation to, unsigned, cudaStream_t stream = nullptr) { return cudaMemPrefetchAsync(place, bytes, to.id, stream); }
inline cudaError_t cudaMemAdvise(const void* place, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation to) { return cudaMemAdvise(place, bytes, advice, to.id); }

// The device has one pool of memory, from which cudaMallocAsync allocates.
EMU_C cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
EMU_C cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
EMU_C cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
EMU_C cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
EMU_C cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
EMU_C cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
EMU_C cudaError_t cudaMallocFromPoolAsync(void** place, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
EMU_C cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place);

// Declares the runtime functions for CUDA arrays, textures and surfaces. The header must be included here,
// because it needs the types that are declared above.
#include "emu/texture_api.h"

// Runtime functions for streams and events. A call that issues work to a stream returns when the emulator has
// finished the work.
EMU_C cudaError_t cudaStreamCreate(cudaStream_t* stream);
EMU_C cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
EMU_C cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
EMU_C cudaError_t cudaStreamDestroy(cudaStream_t stream);

// Attributes of streams. They change only the speed of a GPU, so the emulator ignores them.
enum cudaAccessProperty { cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting };
enum cudaSynchronizationPolicy {
    cudaSyncPolicyAuto = 1, cudaSyncPolicySpin, cudaSyncPolicyYield, cudaSyncPolicyBlockingSync
};
struct cudaAccessPolicyWindow {
    void* base_ptr;
    size_t num_bytes;
    float hitRatio;
    cudaAccessProperty hitProp, missProp;
};
union cudaStreamAttrValue {
    cudaAccessPolicyWindow accessPolicyWindow;
    cudaSynchronizationPolicy syncPolicy;
    int priority;
};
enum cudaStreamAttrID {
    cudaStreamAttributeAccessPolicyWindow = 1, cudaStreamAttributeSynchronizationPolicy = 3, cudaStreamAttributePriority = 8
};
EMU_C cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value);
EMU_C cudaError_t cudaCtxResetPersistingL2Cache();

EMU_C cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
EMU_C cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
EMU_C cudaError_t cudaStreamSynchronize(cudaStream_t stream);
EMU_C cudaError_t cudaStreamQuery(cudaStream_t stream);
EMU_C cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
EMU_C cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned flags);
EMU_C cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data);
EMU_C cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* place, size_t bytes = 0, unsigned flags = cudaMemAttachSingle);
EMU_C cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
EMU_C cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
EMU_C cudaError_t cudaEventSynchronize(cudaEvent_t event);
EMU_C cudaError_t cudaEventQuery(cudaEvent_t event);
EMU_C cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
EMU_C cudaError_t cudaEventDestroy(cudaEvent_t event);
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) { return cudaEventRecord(event, stream); }
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags = 0) { return cudaEventCreateWithFlags(event, flags); }

#include "emu/graph_api.h"

// Runtime functions that take a pointer to a kernel, and launch the kernel or return its properties.
namespace emu __attribute__((visibility("default"))) {
// Stores a source line. Error messages of the next call of a runtime API function name this line.
void calls_from(CallSite from);
// Reports that a copy of `bytes` bytes reaches outside of a symbol, which has `size` bytes. Returns the error
// code.
cudaError_t refuse_symbol(size_t size, size_t bytes);
cudaError_t launch_by_pointer(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream, bool cooperative);
cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t name_of(const char** name, const void* kernel);
cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t occupancy(int* blocks, const void* kernel, int threads, size_t shared);
cudaError_t best_block(int* grid, int* block, const void* kernel, size_t (*shared)(int, const void*), const void* state, int limit);
template <class F> const void* address_of_kernel(F* kernel) { return reinterpret_cast<const void*>(kernel); }
}  // namespace emu
template <class F>
cudaError_t cudaLaunchKernel(F* kernel, dim3 grid, dim3 block, void** arguments, size_t shared = 0, cudaStream_t stream = nullptr, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    return emu::launch_by_pointer(emu::address_of_kernel(kernel), grid, block, arguments, shared, stream, false);
}
template <class F>
cudaError_t cudaLaunchCooperativeKernel(F* kernel, dim3 grid, dim3 block, void** arguments, size_t shared = 0, cudaStream_t stream = nullptr, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    return emu::launch_by_pointer(emu::address_of_kernel(kernel), grid, block, arguments, shared, stream, true);
}
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F* kernel) {
    return emu::attributes_of(attributes, emu::address_of_kernel(kernel));
}
template <class F>
cudaError_t cudaFuncGetName(const char** name, F* kernel) {
    return emu::name_of(name, emu::address_of_kernel(kernel));
}
template <class F>
cudaError_t cudaFuncSetAttribute(F* kernel, cudaFuncAttribute attribute, int value) {
    return emu::set_attribute(emu::address_of_kernel(kernel), attribute, value);
}
template <class F> cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetSharedMemConfig(F*, cudaSharedMemConfig) { return cudaSuccess; }
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F* kernel, int threads, size_t shared) {
    return emu::occupancy(blocks, emu::address_of_kernel(kernel), threads, shared);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F* kernel, int threads, size_t shared, unsigned) {
    return emu::occupancy(blocks, emu::address_of_kernel(kernel), threads, shared);
}
template <class F, class Shared>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, F* kernel, Shared shared, int limit = 0) {
    auto call = [](int threads, const void* state) -> size_t { return (*static_cast<const Shared*>(state))(threads); };
    return emu::best_block(grid, block, emu::address_of_kernel(kernel), call, &shared, limit);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F* kernel, size_t shared = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, [shared](int) { return shared; }, limit);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, F* kernel, size_t shared = 0, int limit = 0, unsigned = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, shared, limit);
}

// Launches with attributes. Attributes that change only the speed of a GPU have no effect. A kernel
// always begins after the previous kernel of its stream has ended. So cudaGridDependencySynchronize() has
// nothing to wait for.
enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore, cudaLaunchAttributeAccessPolicyWindow, cudaLaunchAttributeCooperative,
    cudaLaunchAttributeClusterDimension = 4, cudaLaunchAttributeClusterSchedulingPolicyPreference,
    cudaLaunchAttributeProgrammaticStreamSerialization, cudaLaunchAttributePriority = 8
};
union cudaLaunchAttributeValue {
    cudaAccessPolicyWindow accessPolicyWindow;
    int cooperative, programmaticStreamSerializationAllowed, priority;
    struct { unsigned x, y, z; } clusterDim;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned numAttrs;
};
template <class F>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, F*, const cudaLaunchConfig_t*) { return *blocks = 8, cudaSuccess; }
template <class F>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, F* kernel, const cudaLaunchConfig_t* config) {
    unsigned blocks = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const auto& shape = config->attrs[i].val.clusterDim;
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) blocks = shape.x * shape.y * shape.z;
    }
    int of_one = 0, multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    unsigned threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
    cudaError_t error = emu::occupancy(&of_one, emu::address_of_kernel(kernel), static_cast<int>(threads), config->dynamicSmemBytes);
    return *clusters = of_one * multiprocessors / static_cast<int>(blocks), error;
}
template <class F>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, F* kernel, int blocks, int) {
    cudaFuncAttributes attributes;
    cudaError_t error = emu::attributes_of(&attributes, emu::address_of_kernel(kernel));
    int shared = 0;
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
    size_t room = static_cast<size_t>(shared / (blocks > 0 ? blocks : 1));
    size_t most = static_cast<size_t>(attributes.maxDynamicSharedSizeBytes), left = room - (room < attributes.sharedSizeBytes ? room : attributes.sharedSizeBytes);
    return *bytes = left < most ? left : most, error;
}
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// Overloads of runtime functions for C++. An overload with a parameter `from` gets the source line of its
// caller, which error messages name. For other overloads, error messages name the caller's return address.
// Functions that allocate memory are always inlined. So each call in the source has its own return address, which
// distinguishes several calls on one line.
#define EMU_INLINE __attribute__((always_inline)) inline
template <class T> EMU_INLINE cudaError_t cudaMalloc(T** place, size_t bytes, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMalloc((void**)(place), bytes); }
template <class T> EMU_INLINE cudaError_t cudaMallocHost(T** place, size_t bytes, unsigned = 0, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocHost((void**)(place), bytes); }
template <class T> EMU_INLINE cudaError_t cudaHostAlloc(T** place, size_t bytes, unsigned flags, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaHostAlloc((void**)(place), bytes, flags); }
template <class T> cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) { return cudaHostGetDevicePointer((void**)(device), host, flags); }
template <class T> EMU_INLINE cudaError_t cudaMallocManaged(T** place, size_t bytes, unsigned flags = cudaMemAttachGlobal, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocManaged((void**)(place), bytes, flags); }
template <class T> EMU_INLINE cudaError_t cudaMallocPitch(T** place, size_t* pitch, size_t width, size_t height, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocPitch((void**)(place), pitch, width, height); }
template <class T> EMU_INLINE cudaError_t cudaMallocAsync(T** place, size_t bytes, cudaStream_t stream, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocAsync((void**)(place), bytes, stream); }
template <class T> EMU_INLINE cudaError_t cudaMallocAsync(T** place, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocFromPoolAsync((void**)(place), bytes, pool, stream); }
template <class T> EMU_INLINE cudaError_t cudaMallocFromPoolAsync(T** place, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, emu::CallSite from = EMU_HERE) { emu::calls_from(from); return cudaMallocFromPoolAsync((void**)(place), bytes, pool, stream); }
#undef EMU_INLINE
template <class T> void* emu_symbol(const T& symbol) { return const_cast<void*>(reinterpret_cast<const volatile void*>(&symbol)); }
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* source, size_t bytes, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    if (offset + bytes > sizeof symbol) return emu::refuse_symbol(sizeof symbol, bytes);
    return cudaMemcpy(static_cast<char*>(emu_symbol(symbol)) + offset, source, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    if (offset + bytes > sizeof symbol) return emu::refuse_symbol(sizeof symbol, bytes);
    return cudaMemcpy(to, static_cast<char*>(emu_symbol(symbol)) + offset, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* source, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream = nullptr, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    if (offset + bytes > sizeof symbol) return emu::refuse_symbol(sizeof symbol, bytes);
    return cudaMemcpyAsync(static_cast<char*>(emu_symbol(symbol)) + offset, source, bytes, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream = nullptr, emu::CallSite from = EMU_HERE) {
    emu::calls_from(from);
    if (offset + bytes > sizeof symbol) return emu::refuse_symbol(sizeof symbol, bytes);
    return cudaMemcpyAsync(to, static_cast<char*>(emu_symbol(symbol)) + offset, bytes, kind, stream);
}
template <class T> cudaError_t cudaGetSymbolAddress(void** place, const T& symbol) { return *place = emu_symbol(symbol), cudaSuccess; }
template <class T> cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) { return *bytes = sizeof symbol, cudaSuccess; }

#pragma pop_macro("gridDim")
#pragma pop_macro("blockDim")
