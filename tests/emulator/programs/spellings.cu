// Unusual spellings that programs use.
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
    std::ostringstream text;
    text << "largest " << INT_MAX << " ";
    printf("%s%d %d %u\n", text.str().c_str(), back[0], back[31], of_host(4));
    cudaFree(x);
}
