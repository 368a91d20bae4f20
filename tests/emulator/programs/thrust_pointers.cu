// thrust's algorithms on memory from cudaMalloc.
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <cstdio>
__global__ void doubles(const int *in, int *out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }
int main() {
    int *keys, *values, *sums, *copies, host[4];
    cudaMalloc(&keys, 4 * sizeof(int));
    cudaMalloc(&values, 4 * sizeof(int));
    cudaMalloc(&sums, 4 * sizeof(int));
    cudaMalloc(&copies, 4 * sizeof(int));
    thrust::fill(thrust::device, keys, keys + 4, 1);
    thrust::fill(thrust::device, values, values + 4, 3);
    thrust::sort(thrust::device, keys, keys + 4);
    thrust::copy(thrust::device, values, values + 4, copies);
    doubles<<<1, 4>>>(copies, values);
    thrust::reduce_by_key(thrust::device, keys, keys + 4, values, keys, sums);
    cudaMemcpy(host, sums, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\n", host[0]);
    for (int *buffer : {keys, values, sums, copies}) cudaFree(buffer);
    return host[0] != 24;
}
