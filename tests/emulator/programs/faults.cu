// One fault each, chosen by its number.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <cstdlib>

__global__ void race(int *x) {
    x[0] = threadIdx.x;  // race
}
__global__ void outside(int *x) {
    if (threadIdx.x < 17) x[threadIdx.x] = 1;  // outside
    if (threadIdx.x == 3) x[2] = x[20];  // outside again
}
__global__ void right(int *x) {
    if (threadIdx.x < 16) x[threadIdx.x] = 1;
}
__global__ void heap(int *x) {
    if (threadIdx.x) return;
    int *own = static_cast<int *>(malloc(8));
    own[0] = 1;
    x[0] = own[2];  // heap
    free(own);
}
__global__ void spins(int *x) {
    while (x[0] == 0) {  // spins
    }
    x[1] = 1;
}
__global__ void computes(unsigned y, int *x) {
    while (y != 0) y = y * 2 + 1;  // computes
    x[0] = y;
}
__global__ void surface_by_elements(cudaSurfaceObject_t surface) {
    surf2Dwrite(1.0f, surface, 4 * threadIdx.x, 0);  // beyond the row
}
__global__ void surface_by_bytes(cudaSurfaceObject_t surface) {
    surf2Dwrite(1.0f, surface, threadIdx.x, 0);  // not in bytes
}
__global__ void fetch(cudaTextureObject_t texture, float *x) {
    x[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);  // fetch
}
__global__ void sample(cudaTextureObject_t texture, float *x) {
    x[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f);  // sample
}
__global__ void surface_race(cudaSurfaceObject_t surface) {
    surf2Dwrite(float(threadIdx.x), surface, 0, 0);  // surface race
}
__global__ void stale(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float *x) {
    surf2Dwrite(1.0f, surface, 0, 0);
    x[0] = tex2D<float>(texture, 0.5f, 0.5f);  // stale
}
void textures(int wanted, float *x) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    float row[16] = {};
    cudaMallocArray(&array, &format, 16, 2, cudaArraySurfaceLoadStore);  // array
    cudaResourceDesc of_array = {}, of_memory = {};
    of_array.res.array.array = array;
    of_memory.resType = cudaResourceTypeLinear;
    of_memory.res.linear.devPtr = x;
    of_memory.res.linear.desc = format;
    of_memory.res.linear.sizeInBytes = 32;
    cudaTextureDesc how = {};
    cudaSurfaceObject_t surface;
    cudaTextureObject_t texture, linear;
    cudaCreateSurfaceObject(&surface, &of_array);
    cudaCreateTextureObject(&texture, &of_array, &how, nullptr);
    cudaCreateTextureObject(&linear, &of_memory, &how, nullptr);
    cudaMemset(x, 0, 64);
    if (wanted == 17) surface_by_elements<<<1, 17>>>(surface);
    if (wanted == 18) surface_by_bytes<<<1, 2>>>(surface);
    if (wanted == 19) fetch<<<1, 9>>>(linear, x);
    if (wanted == 20) cudaMemcpy2DToArray(array, 4, 0, row, 64, 64, 1, cudaMemcpyHostToDevice);  // bad part
    if (wanted == 21) sample<<<1, 16>>>(texture, x);
    if (wanted == 23) cudaDestroyTextureObject(texture), sample<<<1, 16>>>(texture, x);
    if (wanted == 25) surface_race<<<1, 2>>>(surface);
    if (wanted == 26) stale<<<1, 1>>>(texture, surface, x);
    if (wanted != 22) cudaFreeArray(array);
    if (wanted == 24) sample<<<1, 16>>>(texture, x);
}
int overflow(int depth) {
    volatile char room[4096];
    room[0] = depth;
    return overflow(depth + 1) + room[0];
}

__constant__ int symbol[4];
__device__ int total, totals[2] = {1, 2};
__device__ const int kTwo = 2;
__managed__ int shared_total;
template <class A, class B> struct Both { A a; B b; };
namespace {
__device__ Both<int, int> both;
}
int of_host = 3;
__global__ void bad_shuffle(int *x) {
    int value = __shfl_down_sync(~0u, 1, 16);  // from nowhere
    if (threadIdx.x == 33) x[0] = value;
}
__global__ void long_but_finite(int *x) {
    for (int i = 0; i < 2700000; ++i) x[threadIdx.x] = i;
}
__global__ void sums_up(const int *many, int length, int *x) {
    int sum = 0;
    for (int i = 0; i < length; ++i) sum += many[i];
    x[threadIdx.x] = sum;
}
__global__ void rarely_stores(unsigned y, int *x) {
    for (int i = 0; i < 1000000; ++i) y = y * y + i;
    if (y == 1) x[0] = 1;
}
__global__ void converts(const __half *halves, int *x) {
    x[0] = static_cast<int>(static_cast<float>(halves[0]));  // unwritten half
}
__global__ void waits_for_all() { cooperative_groups::this_grid().sync(); }

// Runs a kernel that only reads for a long time.
void reads_long(int *x) {
    constexpr int kLength = 2700000;
    int *many;
    cudaMalloc(&many, kLength * sizeof(int));
    cudaMemset(many, 0, kLength * sizeof(int));
    sums_up<<<1, 16>>>(many, kLength, x);
    cudaFree(many);
}

void converts_unwritten(int *x) {
    __half *halves;
    cudaMalloc(&halves, 2);
    converts<<<1, 1>>>(halves, x);
    cudaFree(halves);
}

// Frees what cannot be freed, and copies what reaches too far.
void frees_and_copies(int wanted, int *x, int *host) {
    int *other;
    cudaMalloc(&other, 64);
    if (wanted == 27) cudaFree(other + 1);  // inside
    if (wanted == 28) cudaFreeHost(other);  // no host memory
    if (wanted == 29) cudaFree(host);       // host memory
    cudaFree(other);
    if (wanted == 30) cudaFree(other);                                              // again
    if (wanted == 31) cudaMemcpy(other, host, 4, cudaMemcpyHostToDevice);           // freed
    if (wanted == 32) cudaMemcpyToSymbol(symbol, host, 32);                         // symbol
    if (wanted == 33) cudaMemcpy2D(x, 8, host, 4, 8, 2, cudaMemcpyHostToDevice);    // wide
}

// Warp 0 arrives at barrier 1, and warp 1 waits there.
__global__ void named_barrier(unsigned arriving, unsigned waiting) {
    __shared__ unsigned value;
    if (threadIdx.x == 0) value = 1;  // unordered
    if (threadIdx.x < 32) asm volatile("bar.arrive 1, %0;" ::"r"(arriving) : "memory");
    if (threadIdx.x == 40 && waiting == 64) value = 2;
    if (threadIdx.x / 32 == 1) __barrier_sync_count(1, waiting);  // named barrier
}

int main(int argc, char **argv) {
    int *x, host[32] = {};
    cudaMalloc(&x, 64);  // leak
    int wanted = atoi(argv[1]);
    if (wanted == 1) race<<<1, 64>>>(x);
    if (wanted == 2) outside<<<1, 64>>>(x);
    if (wanted == 3) host[0] = x[1];  // host access
    if (wanted == 4) cudaMemcpy(x, host, 128, cudaMemcpyHostToDevice);  // bad copy
    if (wanted == 5) cudaMemcpy(host, x, 64, cudaMemcpyDeviceToHost);  // uninitialised copy
    if (wanted == 6) right<<<1, 2000>>>(x);  // unseen error
    if (wanted == 7) heap<<<1, 32>>>(x);
    if (wanted >= 10 && wanted < 15) race<<<1, 64>>>(x);
    if (wanted == 10) *static_cast<volatile int *>(nullptr) = 1;  // null
    if (wanted == 11) abort();
    if (wanted == 12) wanted = overflow(0);
    if (wanted == 13) cudaMemset(x, 0, 4), spins<<<1, 32>>>(x);
    if (wanted == 14) computes<<<1, 32>>>(1, x);
    if (wanted == 15) right<<<1, 64>>>(host);
    if (wanted == 16) right<<<1, 64>>>(nullptr);
    if (wanted == 35) totals[0] = of_host + kTwo + shared_total;  // own copy
    if (wanted == 36) of_host = both.b;                          // own pair
    if (wanted == 37) bad_shuffle<<<1, 40>>>(x);
    if (wanted == 39) long_but_finite<<<1, 16>>>(x);
    if (wanted == 41) reads_long(x);
    if (wanted == 42) converts_unwritten(x);
    if (wanted == 43) rarely_stores<<<64, 1>>>(3, x);
    if (wanted == 44) named_barrier<<<1, 64>>>(64, 64);
    if (wanted == 45) named_barrier<<<1, 128>>>(96, 96);
    if (wanted == 46) named_barrier<<<1, 96>>>(64, 96);
    if (wanted == 38) cudaMemcpyToSymbol(total, &of_host, 4);
    if (wanted >= 27 && wanted < 34) frees_and_copies(wanted, x, host);
    if (wanted == 34) waits_for_all<<<2, 32>>>();
    if (wanted >= 17 && wanted < 27) textures(wanted, reinterpret_cast<float *>(x));
    right<<<1, 64>>>(x);
    if (wanted != 8) cudaFree(x);
    printf("done\n");
    return 5;
}
