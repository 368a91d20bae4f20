// Every function of the runtime API that is supported.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstring>

#include "expect.h"

__device__ int word = 4;
__constant__ struct { int height, width; } shape = {4, 8};
__global__ void __launch_bounds__(256) twice(int *x) {
    extern __shared__ int words[];
    words[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = 2 * words[threadIdx.x];
}
void called(void *data) { ++*static_cast<int *>(data); }
void called_back(cudaStream_t, cudaError_t, void *data) { ++*static_cast<int *>(data); }

void devices() {
    int n, version;
    size_t free_bytes, total;
    cudaDeviceProp p;
    DO(cudaGetDeviceCount(&n));
    TRUE(n == 1);
    DO(cudaSetDevice(0));
    DO(cudaGetDevice(&n));
    DO(cudaChooseDevice(&n, &p));
    DO(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
    unsigned flags;
    DO(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    DO(cudaGetDeviceFlags(&flags));
    TRUE(flags & cudaDeviceScheduleSpin);
    DO(cudaInitDevice(0, 0, 0));
    char bus[16];
    DO(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    DO(cudaDeviceGetByPCIBusId(&n, bus));
    IS(cudaErrorInvalidDevice, cudaSetDevice(5));
    TRUE(cudaPeekAtLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
    TRUE(cudaGetLastError() == cudaSuccess && !strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
    DO(cudaGetDeviceProperties(&p, 0));
    DO(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
    TRUE(n == p.multiProcessorCount && p.warpSize == 32 && p.major == 9);
    DO(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    DO(cudaDeviceGetLimit(&total, cudaLimitStackSize));
    DO(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    DO(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
    DO(cudaDeviceGetStreamPriorityRange(&n, &version));
    DO(cudaDeviceCanAccessPeer(&n, 0, 0));
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    IS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&n, cudaDevP2PAttrAccessSupported, 0, 1));
    DO(cudaSetDeviceFlags(cudaDeviceBlockingSync));
    cudaGetLastError();
    DO(cudaRuntimeGetVersion(&version));
    DO(cudaDriverGetVersion(&version));
    DO(cudaMemGetInfo(&free_bytes, &total));
    TRUE(free_bytes <= total);
    TRUE(p.surfaceAlignment == 512);
    nvtxRangePush("profiled");
    nvtxRangePop();
    DO(cudaProfilerStart());
    DO(cudaProfilerStop());
}

void pools(int *x) {
    cudaMemPool_t pool, same;
    uint64_t threshold = 1ull << 40, found = 0;
    int reuse = 0;
    DO(cudaDeviceGetDefaultMemPool(&pool, 0));
    DO(cudaDeviceGetMemPool(&same, 0));
    DO(cudaDeviceSetMemPool(0, pool));
    DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    DO(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &found));
    DO(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse));
    DO(cudaMemPoolTrimTo(pool, 0));
    TRUE(pool == same && found == threshold && reuse == 1);
    int *a, *b;
    DO(cudaMallocFromPoolAsync(&a, 64, pool, 0));
    DO(cudaMallocAsync(&b, 64, pool, 0));
    DO(cudaMemcpyAsync(a, x, 64, cudaMemcpyDeviceToDevice));
    DO(cudaFreeAsync(a, 0));
    DO(cudaFreeAsync(b, 0));
}

void memory() {
    int *x, *pinned, *mapped, *managed, *later, host[64] = {1, 2, 3}, own[16], back[64];
    DO(cudaMalloc(&x, sizeof host));
    DO(cudaMallocHost(&pinned, sizeof host));
    DO(cudaHostAlloc(&mapped, sizeof host, cudaHostAllocMapped));
    DO(cudaMallocManaged(&managed, sizeof host));
    DO(cudaMallocAsync(&later, sizeof host, 0));
    DO(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    IS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, sizeof own, 0));
    DO(cudaHostUnregister(own));
    int *device;
    DO(cudaHostGetDevicePointer(&device, mapped, 0));
    mapped[5] = 21;
    DO(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    DO(cudaMemcpyAsync(later, x, sizeof host, cudaMemcpyDeviceToDevice));
    DO(cudaMemcpy(back, later, sizeof host, cudaMemcpyDefault));
    TRUE(back[2] == 3);
    DO(cudaMemcpyPeer(back, 0, x, 0, 4));
    IS(cudaErrorInvalidDevice, cudaMemcpyPeerAsync(later, 1, x, 0, 4));
    cudaGetLastError();
    pools(x);
    twice<<<1, 64, 256>>>(device);
    DO(cudaDeviceSynchronize());
    TRUE(mapped[5] == 42);
    DO(cudaMemset(x, 1, sizeof host));
    DO(cudaMemsetAsync(x, 0, 8, 0));
    DO(cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost));
    TRUE(back[1] == 0 && back[2] == 0x01010101);
    IS(cudaErrorInvalidValue, cudaMemcpy(x, host, sizeof host + 4, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidValue, cudaMemcpy(back, x, 4, cudaMemcpyHostToDevice));
    char *rows, picture[4][10] = {"one", "two", "three", "four"}, copy[4][10];
    size_t pitch;
    DO(cudaMallocPitch(&rows, &pitch, 10, 4));
    DO(cudaMemcpy2D(rows, pitch, picture, 10, 10, 4, cudaMemcpyHostToDevice));
    DO(cudaMemset2D(rows, pitch, 'x', 1, 4));
    DO(cudaMemcpy2DAsync(copy, 10, rows, pitch, 10, 4, cudaMemcpyDeviceToHost));
    TRUE(!strcmp(copy[2], "xhree"));
    cudaPitchedPtr box;
    DO(cudaMalloc3D(&box, make_cudaExtent(16, 4, 2)));
    DO(cudaMemset3D(box, 7, make_cudaExtent(16, 4, 2)));
    DO(cudaMemset2DAsync(rows, pitch, 'y', 1, 4));
    DO(cudaMemcpy(back, static_cast<char *>(box.ptr) + 7 * box.pitch, 16, cudaMemcpyDeviceToHost));
    TRUE(back[3] == 0x07070707);
    cudaPointerAttributes attributes;
    DO(cudaPointerGetAttributes(&attributes, x));
    TRUE(attributes.type == cudaMemoryTypeDevice);
    DO(cudaMemPrefetchAsync(managed, sizeof host, 0));
    DO(cudaMemAdvise(managed, sizeof host, cudaMemAdviseSetReadMostly, 0));
    int advised = -1;
    DO(cudaMemRangeGetAttribute(&advised, sizeof advised, cudaMemRangeAttributeReadMostly, managed, sizeof host));
    DO(cudaPointerGetAttributes(&attributes, managed + 1));
    TRUE(advised == 0 && attributes.type == cudaMemoryTypeManaged);
    cudaMemLocation place = {cudaMemLocationTypeDevice, 0};
    DO(cudaMemPrefetchAsync(managed, sizeof host, place, 0));
    DO(cudaMemAdvise(managed, sizeof host, cudaMemAdviseSetAccessedBy, place));
    void *address;
    size_t bytes;
    int width = 0;
    DO(cudaMemcpyFromSymbol(&width, shape, sizeof width, sizeof width));
    TRUE(width == 8);
    DO(cudaGetSymbolAddress(&address, word));
    DO(cudaGetSymbolSize(&bytes, word));
    DO(cudaMemcpyToSymbolAsync(word, host, 4, 0, cudaMemcpyHostToDevice));
    DO(cudaMemcpyFromSymbolAsync(back, word, 4, 0, cudaMemcpyDeviceToHost));
    TRUE(back[0] == 1 && bytes == 4);
    DO(cudaFree(x));
    IS(cudaErrorInvalidValue, cudaFree(x));
    DO(cudaFree(rows));
    DO(cudaFree(box.ptr));
    DO(cudaFree(managed));
    DO(cudaFreeAsync(later, 0));
    DO(cudaFreeHost(pinned));
    DO(cudaFreeHost(mapped));
    DO(cudaFree(nullptr));
    cudaGetLastError();
}

void streams() {
    cudaStream_t first, second, third;
    cudaEvent_t begin, end;
    float ms = -1;
    int calls = 0;
    DO(cudaStreamCreate(&first));
    DO(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithPriority(&third, cudaStreamDefault, -1));
    cudaStreamAttrValue attribute = {};
    attribute.accessPolicyWindow = {&attribute, 64, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
    DO(cudaStreamSetAttribute(third, cudaStreamAttributeAccessPolicyWindow, &attribute));
    DO(cudaCtxResetPersistingL2Cache());
    DO(cudaEventCreate(&begin));
    DO(cudaEventCreateWithFlags(&end, cudaEventDefault));
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, begin, end));
    DO(cudaEventRecord(begin, first));
    DO(cudaStreamWaitEvent(second, begin));
    DO(cudaLaunchHostFunc(second, called, &calls));
    DO(cudaStreamAddCallback(third, called_back, &calls, 0));
    DO(cudaEventRecordWithFlags(end, 0, cudaEventRecordDefault));
    DO(cudaEventSynchronize(end));
    DO(cudaEventQuery(end));
    DO(cudaEventElapsedTime(&ms, begin, end));
    TRUE(ms >= 0 && calls == 2);
    DO(cudaStreamSynchronize(first));
    DO(cudaStreamQuery(second));
    DO(cudaStreamAttachMemAsync(first, nullptr));
    DO(cudaEventDestroy(begin));
    DO(cudaEventDestroy(end));
    DO(cudaStreamDestroy(first));
    DO(cudaStreamDestroy(second));
    DO(cudaStreamDestroy(third));
    cudaGetLastError();
}

void kernels() {
    cudaFuncAttributes attributes;
    int blocks, block, grid, *x;
    DO(cudaFuncGetAttributes(&attributes, twice));
    TRUE(attributes.maxThreadsPerBlock == 256);
    DO(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice, 256, 0));
    TRUE(blocks == 8);
    DO(cudaOccupancyMaxPotentialBlockSize(&grid, &block, twice));
    TRUE(block == 256 && grid == 64);
    DO(cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, twice, 0, 128));
    TRUE(block == 128);
    const char *name;
    DO(cudaFuncGetName(&name, twice));
    TRUE(!strcmp(name, "twice"));
    DO(cudaFuncSetCacheConfig(twice, cudaFuncCachePreferL1));
    DO(cudaMalloc(&x, 256));
    twice<<<1, 64, 100 << 10>>>(x);
    TRUE(cudaGetLastError() == cudaErrorInvalidValue);
    DO(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    DO(cudaMemset(x, 0, 256));
    twice<<<1, 64, 100 << 10>>>(x);
    DO(cudaGetLastError());
    twice<<<1, 257>>>(x);
    TRUE(cudaGetLastError() == cudaErrorInvalidConfiguration);
    twice<<<dim3(1, 65536), 64>>>(x);
    TRUE(cudaGetLastError() == cudaErrorInvalidConfiguration);
    DO(cudaFree(x));
    DO(cudaDeviceReset());
}

int main() {
    devices();
    memory();
    streams();
    kernels();
    printf("%d failures\n", failures);
    return failures;
}
