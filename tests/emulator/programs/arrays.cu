// One line writes to several arrays, and the threads of a warp race in each of them.
#include <cstdlib>

__device__ int table[8];
__device__ void put(int *place) { *place = threadIdx.x; }  // race
__global__ void races(int *x, int *y, double *after) {
    __shared__ int part[32], other[4];
    put(&x[3]);
    put(&y[1]);
    put(&part[5]);
    put(&other[2]);
    put(&table[6]);
    if (threadIdx.x == 0) after[9] = 1;  // outside
    if (threadIdx.x == 1) y[2] = other[3 + threadIdx.x];
}

int main() {
    for (int i = 0; i < 2; ++i) {
        int *x, *y;
        double *after;
        cudaMalloc(&x, 16 * sizeof(int));
        cudaMalloc((void **)&y, 8 * sizeof(int));
        cudaMalloc(&after, 9 * sizeof(double));
        races<<<1, 32>>>(x, y, after);
        cudaFree(x);
        cudaFree(y);
        cudaFree(after);
    }
}
