#include "parts.h"
#include <cstdio>
__device__ int shared_by_parts = 1;
__global__ void kernel(int *x) { x[0] = from_other_part(PLUS) + shared_by_parts; }
int main() {
    int *x, result;
    cudaMalloc(&x, 4);
    kernel<<<1, 1>>>(x);
    launch_other(x);
    cudaMemcpy(&result, x, 4, cudaMemcpyDeviceToHost);
    printf("%d %d\n", result, devices_of_host_part());
    cudaFree(x);
}
