// Every way to launch a kernel; each adds one to its word.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>

enum { MACRO, POINTER, DEFAULT, DEDUCED, LAMBDA, CHILD, BY_ADDRESS, COOPERATIVE, SPECIAL, OVERLOAD, PACK, SHAPE, ALL };

__global__ void plain(int *x, int at, int by = 1) {
    if (threadIdx.x == 0) atomicAdd(x + at, by);
}
template <typename T, int N>
__global__ void sized(T *x, int at) {
    __shared__ T words[N];
    words[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(x + at, words[N - 1]);
}
template <typename T>
__global__ void __launch_bounds__(64) deduced(T *__restrict__ x, const int at, T by) {
    if (threadIdx.x == 0) atomicAdd(x + at, by);
}
template <>
__global__ void deduced<unsigned>(unsigned *__restrict__ x, const int at, unsigned by) {
    if (threadIdx.x == 0) atomicAdd(x + at, by);
}
template <class F>
__global__ void call(F f) {
    if (threadIdx.x == 0) f();
}
template <class... Words>
__global__ void pack(int *x, Words... words) {
    if (threadIdx.x == 0) atomicAdd(x + PACK, (words + ...));
}
__global__ void overloaded(int *x, float) { atomicAdd(x + OVERLOAD, 10); }
__global__ void overloaded(int *x, int) { atomicAdd(x + OVERLOAD, 1); }
__global__ void parent(int *x, const float *) {
    if (threadIdx.x == 0) plain<<<1, 32>>>(x, CHILD);
}
__global__ void meet(int *x) {
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0) atomicAdd(x + COOPERATIVE, 1);
}
__global__ void cubes(int *x) {
    bool last = blockIdx.x == 1 && blockIdx.y == 2 && blockIdx.z == 3 && threadIdx.x == 3 && threadIdx.y == 2 && threadIdx.z == 1;
    if (last && gridDim.z == 4 && blockDim.y == 3) atomicAdd(x + SHAPE, 1);
}
#define RUN(kernel, ...) kernel<<<dim3(1), 32>>>(__VA_ARGS__)

int main() {
    int *x;
    cudaMalloc(&x, ALL * sizeof(int));
    cudaMemset(x, 0, ALL * sizeof(int));
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    RUN((sized<int, 32>), x, MACRO);
    void (*pointer)(int *, int) = sized<int, 64>;
    pointer<<<1, 64, 0, stream>>>(x, POINTER);
    plain<<<1, 1>>>(x, DEFAULT);
    deduced<<<1, 64>>>(x, DEDUCED, 1);
    deduced<<<1, 64>>>(reinterpret_cast<unsigned *>(x), SPECIAL, 1u);
    call<<<1, 32>>>([=] __device__() { atomicAdd(x + LAMBDA, 1); });
    parent<<<1, 32>>>(x, NULL);
    int at = BY_ADDRESS, one = 1;
    void *arguments[] = {&x, &at, &one};
    cudaLaunchKernel((const void *)plain, dim3(1), dim3(32), arguments, 0, stream);
    void *only[] = {&x};
    cudaLaunchCooperativeKernel((const void *)meet, dim3(4), dim3(32), only);
    overloaded<<<1, 1>>>(x, 1);
    pack<<<1, 32>>>(x, 3, -2);
    dim3 gridDim(2, 3, 4);
    cubes<<<gridDim, dim3(4, 3, 2)>>>(x);
    int words[ALL];
    cudaMemcpy(words, x, sizeof words, cudaMemcpyDeviceToHost);
    for (int i = 0; i < ALL; ++i) {
        if (words[i] != 1) printf("word %d is %d\n", i, words[i]);
    }
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFree(x);
}
