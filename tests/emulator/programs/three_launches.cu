// The first launch has a divergent barrier, the second a wrong index, the third a failed assertion.
#include <cassert>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
    if ((call) != cudaSuccess) exit(3)

__global__ void diverges(int *x) {
    if (threadIdx.x < 16) {
        x[threadIdx.x] = 1;
        __syncthreads();  // first half
    } else {
        x[threadIdx.x] = 2;
        __syncthreads();  // second half
    }
}
__global__ void reaches_too_far(int *x) {
    x[threadIdx.x + 64] = 3;  // outside
}
__global__ void asserts(int *x) { assert(x[threadIdx.x] == 5); }

int main() {
    int *x;
    CHECK(cudaMalloc(&x, 64 * sizeof(int)));
    CHECK(cudaMemset(x, 0, 64 * sizeof(int)));
    for (int i = 0; i < 3; ++i) {
        diverges<<<2, 32>>>(x);
        CHECK(cudaDeviceSynchronize());
        reaches_too_far<<<1, 32>>>(x);
        CHECK(cudaDeviceSynchronize());
        asserts<<<1, 32>>>(x);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaFree(x));
    printf("done\n");
}
