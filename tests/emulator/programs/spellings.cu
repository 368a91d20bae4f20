// Unusual spellings that programs use.
#include <cuda/atomic>
#include <cuda/std/atomic>

#include <climits>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <type_traits>

__shared__ unsigned words[32];

__global__ void kernel_and_parameter(int *kernel_and_parameter) { kernel_and_parameter[threadIdx.x] = threadIdx.x; }

template <class T, typename std::enable_if<std::is_same<T, int>::value, int>::type = 0>
__global__ void of_one_type(T *x) {
    __shared__ extern T reversed[];
    reversed[31 - threadIdx.x] = x[threadIdx.x];
    ((float *)words)[threadIdx.x] = 0.5f;
    __syncthreads();
    x[threadIdx.x] = reversed[threadIdx.x] + int(2 * ((float *)words)[31 - threadIdx.x]);
}

template <class T, int N>
__launch_bounds__(N) __global__ void of_class(T *x) {
    __shared__ T sum[N];
    sum[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = sum[threadIdx.x ^ 1];
}

__global__ void built_in_atomics(int *x, unsigned long long *sum) {
    __nv_atomic_fetch_add(sum, 2, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_max(&x[1], threadIdx.x, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
    if (threadIdx.x == 0) {
        x[2] = 7;
        __nv_atomic_store_n(&x[3], 1, __NV_ATOMIC_RELEASE);
    } else if (threadIdx.x == 31) {
        while (__nv_atomic_load_n(&x[3], __NV_ATOMIC_ACQUIRE) == 0) __nanosleep(10);
        int expected = 7;
        if (__nv_atomic_compare_exchange_n(&x[2], &expected, 8, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED)) x[0] = expected;
    }
}

__device__ int twice(int x) { return 2 * x; }
__global__ void declared_with_attributes(int *x) {
    alignas(32) __shared__ char first[3];
    __align__(64) __shared__ char second;
    [[maybe_unused]] __shared__ int(third)[2];
    extern __align__(16) __shared__ int fourth[];
    __shared__ int rows[2][2], (*row)[2];
    __shared__ int (*function)(int);
    if (threadIdx.x == 0) {
        function = twice;
        row = rows + 1;
        rows[1][1] = 4;
    }
    __syncthreads();
    first[threadIdx.x] = function((*row)[1]) - 7;
    third[threadIdx.x] = fourth[threadIdx.x] = 2;
    bool is_aligned = (size_t)first % 32 == 0 && (size_t)&second % 64 == 0;
    x[threadIdx.x] = first[threadIdx.x] + third[threadIdx.x] + fourth[threadIdx.x] + is_aligned;
}

template <class T, T (*Function)(T), int kMore, bool kIsLess>
__global__ void calls(T *x) {
    *x = Function(*x) + kMore + kIsLess;
}
__device__ cuda::atomic<int, cuda::thread_scope_device> counted{1};
__global__ void cuda_atomics(int *x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(x[1]);
    if (threadIdx.x == 0) {
        x[0] = 2;
        flag.store(1, cuda::std::memory_order_release);
    } else if (threadIdx.x == 31) {
        while (flag.load(cuda::memory_order::acquire) == 0) __nanosleep(10);
        x[2] = x[0] + cuda::std::atomic_ref<int>(x[1]).load(cuda::memory_order_relaxed);
    }
    counted.fetch_add(1, cuda::std::memory_order_relaxed);
}

// Kernels read and write one array through pointers to several types.
__device__ __noinline__ float four_at_once(float *x, uint4 *quads) {
    x[0] = 1.0f;
    quads[0] = quads[1];
    return x[0];
}

__global__ void by_two_types(int *x) {
    ((float *)x)[4] = 0.25f;
    ((float *)x)[0] = four_at_once((float *)x, (uint4 *)x);
}

// NVIDIA's sample programs test this include guard.
#ifndef __DRIVER_TYPES_H__
#error "CUDA's types are missing"
#endif

// Assembly code of the host stays as it is.
static unsigned of_host(unsigned x) {
#ifdef __x86_64__
    asm("addl $1, %0" : "=a"(x) : "0"(x));
    return x;
#else
    return x + 1;
#endif
}

int main() {
    int *x, back[32];
    cudaMalloc(&x, sizeof back);
    kernel_and_parameter<<<1, 32>>>(x);
    of_one_type<<<1, 32, sizeof back>>>(x);
    of_class<int, 32><<<1, 32>>>(x);
    cudaMemcpy(back, x, sizeof back, cudaMemcpyDeviceToHost);
    int atomics[4];
    unsigned long long *sum, added;
    cudaMalloc(&sum, sizeof added);
    cudaMemset(sum, 0, sizeof added);
    cudaMemset(x, 0, sizeof back);
    built_in_atomics<<<1, 32>>>(x, sum);
    cudaMemcpy(atomics, x, sizeof atomics, cudaMemcpyDeviceToHost);
    cudaMemcpy(&added, sum, sizeof added, cudaMemcpyDeviceToHost);
    cudaFree(sum);
    int of_cuda[3], number;
    cudaMemset(x, 0, sizeof back);
    cuda_atomics<<<1, 32>>>(x);
    cudaMemcpy(of_cuda, x, sizeof of_cuda, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&number, counted, sizeof number);
    if (of_cuda[2] != 3 || number != 33) printf("cuda::atomic: %d %d\n", of_cuda[2], number);
    int sums[2];
    declared_with_attributes<<<1, 2, 2 * sizeof(int)>>>(x);
    calls<int, twice, (5 >> 1) * sizeof(int), (2 < 3)><<<1, 1>>>(x);
    cudaMemcpy(sums, x, sizeof sums, cudaMemcpyDeviceToHost);
    if (sums[0] != 21 || sums[1] != 6) printf("attributes and brackets: %d %d\n", sums[0], sums[1]);
    const int *read_only;
    cudaMalloc(&read_only, sizeof *read_only);
    cudaFree((void *)read_only);
    float copied;
    by_two_types<<<1, 1>>>(x);
    cudaMemcpy(&copied, x, sizeof copied, cudaMemcpyDeviceToHost);
    std::ostringstream text;
    text << "largest " << INT_MAX << " ";
    printf("%s%d %d %u %d %d %d %llu %g\n", text.str().c_str(), back[0], back[31], of_host(4), atomics[0], atomics[1], atomics[2], added, copied);
    cudaFree(x);
}
